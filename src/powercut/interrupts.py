"""How Ctrl-C and termination end a run: with what was found so far saved, and nothing left behind.

A signal raises KeyboardInterrupt wherever the program is. Where Python cannot let an exception through (a destructor, a
callback of the interpreter), it forgets it, so the signal is also written down: long work asks `pass_on`, which raises
what got lost, and nothing is printed of it. Where something is made, a signal waits until it is noted that it must be
removed.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

__all__ = ["HeldBack", "at_end", "end_as_by_interrupt", "end_in_peace", "pass_on"]

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_came = False
_holding = 0  # how many pieces of work hold signals back
_kept = False  # one came meanwhile
_last: list[Callable[[], None]] = []


def end_as_by_interrupt() -> None:
    """From now on these signals interrupt this process; a forked one just ends."""
    owner = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> None:
        global _came, _kept
        if os.getpid() != owner:
            os._exit(128 + number)  # a worker
        _came = True
        if _holding:
            _kept = True
            return
        raise KeyboardInterrupt

    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # nohup stays nohup
            signal.signal(number, interrupt)
    others = sys.unraisablehook

    def tell(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            others(lost)

    sys.unraisablehook = tell
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # then nobody could learn how a child ended
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def end_in_peace() -> bool:
    """All is done and said: whoever interrupts this process now changes nothing. Whether somebody did before."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    for work in _last:
        work()
    return _came


def at_end(work: Callable[[], None]) -> Callable[[], None]:
    """Have this done when the process ends, also where `end_in_peace` is followed by an end without atexit."""
    _last.append(work)
    return atexit.register(work)


def pass_on() -> None:
    """Raise an interrupt that came, in case that nobody has seen it."""
    if _came:
        raise KeyboardInterrupt


class HeldBack:
    """While this is entered, a signal waits: for work of a moment. It interrupts at the end."""

    def __enter__(self) -> None:
        global _holding
        _holding += 1

    def __exit__(self, *_: object) -> None:
        global _holding, _kept
        _holding -= 1
        if _kept and not _holding:
            _kept = False
            raise KeyboardInterrupt
