"""Read the mailbox: what is in it is whole, what was removed is gone, and nothing else is."""

import mailbox
import os
import sys

box = mailbox.mbox(os.path.join(os.environ["POWERCUT_DIR"], "mbox"))
texts = {message["subject"]: message.get_payload() for message in box}
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [int(line.split()[1]) for line in acked if line.endswith("\n")]
for number in (1, 2, 3, 4):
    text = texts.get(f"message {number}")
    if text is None and number > len(told) + 1:
        sys.exit(f"message {number} is gone: {sorted(map(str, texts))}")
    if text is not None and text != f"text {number} " * 20 + "\n":
        sys.exit(f"message {number} is not whole: {text!r}")
    if text is not None and number in told:
        sys.exit(f"message {number} was removed, and it is back")
