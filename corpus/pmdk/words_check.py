"""words_check.py READER POOL WORD: the word is in the pool, or nothing is; nothing only before it was confirmed.

Before that there may be no pool yet, or one that is not complete: then the reader ends with an error, or dies of SIGBUS
where the file has its name and not yet its length (pmemobj_create is not atomic, and says so).
"""

import os
import sys

from running import run

reader, pool, word = sys.argv[1:]
status, text = run(reader, pool)
with open(os.environ["POWERCUT_ACKED"]) as file:
    stored = f"stored {word}\n" in file
text = text.strip()
if stored and status not in (0, 1):
    sys.exit(f"the reader ended with {status}")
if text not in ("", word):
    sys.exit(f"the pool holds {text!r}")
if stored and text != word:
    sys.exit(f"{word} was stored and is gone")
