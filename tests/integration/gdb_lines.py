"""Run by gdb: what it says of addresses. Before: a JSON file of addresses by program. After: one of their frames."""

import json

import gdb


def function_block(block):
    while block is not None and block.function is None:
        block = block.superblock
    return block


def place(symtab, line):
    return [symtab.fullname() if symtab and line else None, line]


def frames(address):
    """Linker's name, name, file and line of each function at an address, the innermost inlined one first.

    gdb keeps the call of an inlined function as the line of its symbol. A function that is written inside another one
    looks the same, but the code of the outer one is elsewhere.
    """
    found = gdb.find_pc_line(address)
    at, told = place(found.symtab, found.line), []
    block = function_block(gdb.block_for_pc(address))
    while block is not None:
        function = block.function
        told.append([function.linkage_name, function.name, *at])
        at = place(function.symtab, function.line)
        block = function_block(block.superblock)
        if block is not None and not block.start <= address < block.end:
            break
    return told


def main(path):
    with open(path) as file:
        asked = json.load(file)
    answers = {}
    for program, addresses in asked.items():
        gdb.execute(f"file {program}", to_string=True)
        answers[program] = [frames(address) for address in addresses]
    with open(f"{path}.answers", "w") as file:
        json.dump(answers, file)


main(str(gdb.convenience_variable("asked").string()))
