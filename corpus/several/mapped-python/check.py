"""Every score is as it was said; the best score has its player."""

import os
import struct
import sys

scores = struct.unpack("1024Q", open("scores", "rb").read())
if "scored\n" in open(os.environ["POWERCUT_ACKED"]).read() and scores[10] != 300:
    sys.exit("the score is gone")
best = divmod(scores[0], 1 << 32)[::-1] if scores[0] else (scores[512], scores[1])
if best not in ((0, 0), (300, 10)):
    sys.exit("the best score has no player")
