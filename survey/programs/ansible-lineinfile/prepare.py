"""The file before the play, and a folder for temporary files on the same file system."""

import os

os.mkdir("data/tmp")
with open("data/sshd_config", "w") as file:
    file.write("Port 22\nPermitRootLogin yes\nAllowUsers admin\n")
