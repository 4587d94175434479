"""Run by gdb: the stack at each write. Before: a program with its arguments. After: a JSON file of its stacks, each a
list of frames from the innermost outwards, each the path of a file and the address of the call in it."""

import json
import os

import gdb

LOADED_ANYWHERE = 3  # e_type of shared objects, and of programs that can lie anywhere


def mappings():
    """Of each piece of code that is mapped: where it begins and ends, its file, and where that begins."""
    found, bases = [], {}
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as file:
        for line in file:
            words = line.rstrip("\n").split(None, 5)
            start, end = (int(number, 16) for number in words[0].split("-"))
            path = words[5] if len(words) == 6 else ""
            base = bases.setdefault(path, start)
            if "x" in words[1]:
                found.append((start, end, path, base))
    return found


def in_file(address, mapped):
    """File and address in it; None where there is no code: gdb goes on there, below the first frame of a context."""
    for start, end, path, base in mapped:
        if start <= address < end:
            with open(path, "rb") as file:
                moved = int.from_bytes(file.read(18)[16:], "little") == LOADED_ANYWHERE
            return [os.path.basename(path), address - base if moved else address]
    return None


def stack(mapped):
    """Functions that were inlined, or left by a jump, have no frame: gdb adds what debug information knows of them.

    An address is behind the call to which it belongs, and is moved back into it, unless a signal came in between.
    """
    frames, exact, frame = [], False, gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            place = in_file(frame.pc() - (0 if exact else 1), mapped)
            if place is None:
                break
            frames.append(place)
            exact = frame.type() == gdb.SIGTRAMP_FRAME
        frame = frame.older()
    return frames


def main(output):
    for setting in ("pagination off", "backtrace past-main on", "backtrace limit 10000", "debuginfod enabled off"):
        gdb.execute(f"set {setting}", to_string=True)
    gdb.execute("handle all nostop noprint pass", to_string=True)
    gdb.execute("catch syscall write", to_string=True)
    gdb.execute("run", to_string=True)
    stacks, entering = [], True
    while gdb.selected_inferior().pid != 0:
        if entering and int(gdb.parse_and_eval("$rdi")) > 2:
            stacks.append(stack(mappings()))
        entering = not entering
        gdb.execute("continue", to_string=True)
    with open(output, "w") as file:
        json.dump(stacks, file)


main(str(gdb.convenience_variable("output").string()))
