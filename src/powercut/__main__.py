"""`powercut`, and `python -m powercut`: Ctrl-C is answered in one line from the first moment, before all is loaded."""

from __future__ import annotations

import sys


def start() -> None:
    """Load the command line, and run it."""
    try:
        from powercut.commands.main import main
    except KeyboardInterrupt:
        sys.stderr.write("powercut: interrupted [interrupted]\n")
        sys.exit(130)
    main()


if __name__ == "__main__":
    start()
