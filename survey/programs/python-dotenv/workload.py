"""Set three keys of a file that holds secrets and say which is set. An argument: write the file first."""

import sys

from dotenv import set_key

if len(sys.argv) > 1:
    with open("data/.env", "w") as file:
        file.write("SECRET='a key that nobody else has'\n")
else:
    for number in (1, 2, 3):
        set_key("data/.env", f"KEY_{number}", f"value {number}")
        print("set", number, flush=True)
