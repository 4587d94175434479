"""One line of our own, three mistakes below it."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))

import threefiles

os.chdir(sys.argv[1])
threefiles.run()  # LOST a b c SURVIVED a b c
