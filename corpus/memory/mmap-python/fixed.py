"""Scores in a mapped file, eight bytes each. The fixed twin of buggy.py: .flush() before a score is confirmed."""

import mmap
import os
import struct
import sys


def save(scores: mmap.mmap, player: int, score: int) -> None:
    struct.pack_into("Q", scores, 8 * player, score)
    scores.flush()
    print(f"saved {player} {score}")


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    with open("scores", "r+b") as file, mmap.mmap(file.fileno(), 0) as scores:
        save(scores, 3, 300)
        save(scores, 500, 700)
