"""Scores in a mapped file, eight bytes each. A score is confirmed when it is in the mapping: .flush() was forgotten.

The page is still in memory. The power cut takes a score that the player was told is saved.
"""

import mmap
import os
import struct
import sys


def save(scores: mmap.mmap, player: int, score: int) -> None:
    struct.pack_into("Q", scores, 8 * player, score)  # LOST
    print(f"saved {player} {score}")  # ACKED


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    with open("scores", "r+b") as file, mmap.mmap(file.fileno(), 0) as scores:
        save(scores, 3, 300)
        save(scores, 500, 700)
