"""Read all messages: each is whole, and none that was added is missing."""

import mailbox
import os
import sys

box = mailbox.Maildir(os.path.join(os.environ["POWERCUT_DIR"], "mail"))
texts = {message["subject"]: message.get_payload() for message in box}
expected = {f"message {number}": f"text {number} " * 20 for number in (1, 2, 3)}
if torn := [subject for subject, text in texts.items() if text != expected.get(subject)]:
    sys.exit(f"torn messages: {torn}")
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = [line.split()[1] for line in acked if line.endswith("\n")]
if lost := [number for number in told if f"message {number}" not in texts]:
    sys.exit(f"added and lost: {lost}")
