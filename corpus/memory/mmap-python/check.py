"""Every score is as it was saved, or not saved yet; none that was said to be saved is missing."""

import os
import struct
import sys

WANTED = {3: 300, 500: 700}

with open("scores", "rb") as file:
    scores = struct.unpack("512Q", file.read())
with open(os.environ["POWERCUT_ACKED"]) as said:
    saved = {int(line.split()[1]) for line in said if line.endswith("\n")}
for player, score in enumerate(scores):
    if score not in (0, WANTED.get(player)):
        sys.exit(f"player {player} has score {score}")
    if not score and player in saved:
        sys.exit(f"the score of player {player} was saved and is gone")
