"""Starts powercut's agent in a Python program, then whatever sitecustomize the program has itself.

Before: Python has found this through PYTHONPATH. After: the path is as without it. Any Python may load this, so its
words are those that Python 2 knows, too.
"""

# mypy: ignore-errors

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start():
    if sys.version_info < (3, 8) or sys.implementation.name != "cpython":
        return
    import powercut_agent

    powercut_agent.start()


def _go_on():
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        sys.modules["sitecustomize"] = own


_start()
_go_on()
