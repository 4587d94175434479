"""The file is the old one or the new one; the new one if the task has said that it was changed."""

import os
import sys

with open(os.path.join(os.environ["POWERCUT_DIR"], "sshd_config")) as file:
    text = file.read()
versions = [f"Port 22\nPermitRootLogin {word}\nAllowUsers admin\n" for word in ("yes", "no")]
if text not in versions:
    sys.exit(f"neither old nor new: {text!r}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    if '"changed": true' in acked.read() and text != versions[1]:
        sys.exit("changed, the task says, and it is not")
