"""Overwrite a value of a key-value store of files three times and say which is written. Argument: how many."""

import os
import sys

import tensorstore

count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
store = tensorstore.KvStore.open("file://" + os.path.abspath("data/store") + "/").result()
for number in range(count + 1):
    store.write("settings", b"version %d " % number * 20).result()
    print("written", number, flush=True)
