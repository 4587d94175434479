"""How Ctrl-C and termination end a run: with what was found so far saved, and nothing left behind.

A signal raises KeyboardInterrupt wherever the program is. Where Python cannot let an exception through (a destructor, a
callback of the interpreter), it prints and forgets it, so the signal is also written down: long work asks `pass_on`,
which raises what got lost.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

__all__ = ["end_as_by_interrupt", "end_in_peace", "pass_on"]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_came = False


def end_as_by_interrupt() -> None:
    """From now on these signals interrupt this process; a forked one just ends."""
    owner = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> None:
        global _came
        if os.getpid() != owner:
            os._exit(128 + number)  # a worker
        _came = True
        raise KeyboardInterrupt

    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # nohup stays nohup
            signal.signal(number, interrupt)
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # then nobody could learn how a child ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def end_in_peace() -> bool:
    """All is done and said: whoever interrupts this process now changes nothing. Whether somebody did before."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    return _came


def pass_on() -> None:
    """Raise an interrupt that came, in case that nobody has seen it."""
    if _came:
        raise KeyboardInterrupt
