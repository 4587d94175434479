"""The host that nobody removed is still known, by its key. Argument: what was known before."""

import os
import sys

with open(sys.argv[1]) as file:
    known = file.read().splitlines()
with open(os.path.join(os.environ["POWERCUT_DIR"], "known_hosts"), errors="replace") as file:
    left = file.read().splitlines()
if known[2] not in left:
    sys.exit(f"the key of three.example.org is gone; lines left: {len(left)}")
if wrong := [line for line in left if line not in known]:
    sys.exit(f"a broken line: {wrong[0][:40]!r}")
