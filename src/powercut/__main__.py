"""`powercut`, and `python -m powercut`: Ctrl-C is answered in one line from the first moment, before all is loaded."""

from __future__ import annotations

import gc
import sys

_FEW_COLLECTIONS = 300_000
"""Objects between two looks for garbage: what is loaded at the start (about 200,000) stays, and to look at it again and
again takes a tenth of the time of a short run."""


def start() -> None:
    """Load the command line, and run it."""
    try:
        gc.set_threshold(_FEW_COLLECTIONS)
        from powercut.commands.main import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("powercut: interrupted [interrupted]\n")
        sys.exit(130)


if __name__ == "__main__":
    start()
