"""Remove three messages of a mailbox, flush after each, and say which is gone. An argument: make the mailbox."""

import mailbox
import sys

box = mailbox.mbox("data/mbox")
box.lock()
if len(sys.argv) > 1:
    for number in (1, 2, 3, 4):
        box.add(f"Subject: message {number}\n\n" + f"text {number} " * 20 + "\n")
else:
    for number in (1, 2, 3):
        box.remove(number - 1)
        box.flush()
        print("flushed", number, flush=True)
box.close()
