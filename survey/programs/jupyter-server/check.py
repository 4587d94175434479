"""Open the notebook as FileManagerMixin._read_notebook does, but without the second that its imports take.

What cannot be read is replaced by the copy that atomic_writing made. It must not be older than what was saved.
"""

import json
import os
import sys

for name in ("work.ipynb", ".~work.ipynb"):
    try:
        with open(os.path.join(os.environ["POWERCUT_DIR"], name), encoding="utf-8") as file:
            source = json.load(file)["cells"][0]["source"]
        break
    except (OSError, ValueError) as error:
        print(f"{name} is not readable: {error!r}")
else:
    sys.exit(1)
with open(os.environ["POWERCUT_ACKED"]) as acked:
    told = max([int(line.split()[1]) for line in acked if line.endswith("\n")], default=0)
if not any("".join(source) == f"print({number})" for number in range(told, 4)):
    sys.exit(f"version {told} was saved, found {source}")
