"""Add three messages to a maildir and say which is in. Argument: how many, if not three."""

import mailbox
import sys

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
box = mailbox.Maildir("data/mail")
for number in range(1, count + 1):
    box.add(f"Subject: message {number}\n\n" + f"text {number} " * 20)
    print("added", number, flush=True)
