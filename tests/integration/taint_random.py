"""Random straight-line programs, and a small interpreter that knows what each of their values depends on.

The machine: 8 registers and 16 cells of 8 bytes, the first 8 of which lie in the pool and start out labelled. The
interpreter follows values, since addresses and conditions need them. It knows two things of the tracer: a register
has one set of labels, but for its lowest byte after that was written alone; what a condition selects has those of the
condition.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .taint_kit import Labels, Stored

REGISTERS = (("rax", "eax", "ax", "al"), ("rcx", "ecx", "cx", "cl"), ("rdx", "edx", "dx", "dl"))
REGISTERS += (("rbx", "ebx", "bx", "bl"), ("rsi", "esi", "si", "sil"), ("rdi", "edi", "di", "dil"))
REGISTERS += (("r8", "r8d", "r8w", "r8b"), ("r9", "r9d", "r9w", "r9b"))
SIZES = (8, 4, 2, 1)
CELLS, POOL_CELLS, WORD = 16, 8, 8
NOTHING: Labels = frozenset()
MASK = (1 << 64) - 1


@dataclass
class Register:
    value: int = 0
    labels: Labels = NOTHING
    low: Labels = NOTHING  # of the lowest byte

    def read(self, size: int) -> tuple[int, Labels]:
        return self.value & ((1 << 8 * size) - 1), self.low if size == 1 else self.labels

    def write(self, value: int, size: int, labels: Labels) -> None:
        """Parts of 4 bytes clear the rest, smaller ones leave it."""
        keep = 0 if size >= 4 else self.value & ~((1 << 8 * size) - 1)
        self.value = keep | (value & ((1 << 8 * size) - 1))
        self.labels = labels if size >= 4 else self.labels | labels
        self.low = labels


@dataclass
class RandomProgram:
    """A program of some length, grown together with what it must do."""

    seed: int
    registers: list[Register] = field(default_factory=lambda: [Register() for _ in REGISTERS])
    memory: bytearray = field(default_factory=lambda: bytearray(CELLS * WORD))
    labels: list[Labels] = field(default_factory=lambda: [NOTHING] * (CELLS * WORD))
    text: list[str] = field(default_factory=list)
    stores: list[Stored] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        for cell in range(POOL_CELLS):
            self.memory[cell * WORD] = cell  # as the pool is made
            self.labels[cell * WORD : (cell + 1) * WORD] = [frozenset({cell + 1})] * WORD

    def grow(self, count: int) -> None:
        """Add instructions at random, then stores of all that is left into the pool."""
        steps = (self.move, self.constant, self.load, self.load, self.store, self.store, self.arithmetic)
        steps += (self.clear, self.exchange, self.choose, self.through, self.wide_copy, self.push_pop, self.set_byte)
        for _ in range(count):
            self.random.choice(steps)()
        for number, names in enumerate(REGISTERS):
            self.say(f"mov %{names[0]}, {number * WORD}(%r13)")
            self.stores.append(Stored(number * WORD, self.registers[number].labels))
        for cell in range(CELLS):
            self.say(f"mov {self.address(cell * WORD)}, %rax", f"mov %rax, {(8 + cell) * WORD}(%r13)")
            self.stores.append(Stored((8 + cell) * WORD, self.labels_at(cell * WORD, WORD)))

    def say(self, *lines: str) -> None:
        self.text += lines

    def new_block(self) -> None:
        """So that Valgrind sees neither that two registers hold the same, nor that a part is written twice."""
        self.say("lea 1f(%rip), %r11", "jmp *%r11", "1:")

    def write_part(self, number: int, size: int, source: str) -> None:
        if size < 4:
            self.new_block()
        self.say(f"mov {source}, {self.name(number, size)}")

    def pick(self) -> tuple[int, Register]:
        number = self.random.randrange(len(REGISTERS))
        return number, self.registers[number]

    def pick_two(self) -> tuple[int, int]:
        a, b = self.random.sample(range(len(REGISTERS)), 2)
        return a, b

    def name(self, number: int, size: int = WORD) -> str:
        return "%" + REGISTERS[number][SIZES.index(size)]

    def address(self, offset: int) -> str:
        in_pool = offset < POOL_CELLS * WORD
        return f"{offset if in_pool else offset - POOL_CELLS * WORD}({'%r14' if in_pool else '%r15'})"

    def place(self, size: int) -> int:
        """Anywhere in the cells, aligned or not; but in the pool or outside of it."""
        offset = self.random.randrange(CELLS * WORD - size + 1)
        crosses = offset < POOL_CELLS * WORD < offset + size
        return offset - offset % WORD if self.random.random() < 0.5 or crosses else offset

    def labels_at(self, offset: int, size: int) -> Labels:
        return frozenset().union(*self.labels[offset : offset + size])

    def put(self, offset: int, value: bytes, labels: Labels, where: Labels = NOTHING) -> None:
        self.memory[offset : offset + len(value)] = value
        self.labels[offset : offset + len(value)] = [labels] * len(value)
        if offset < POOL_CELLS * WORD:
            self.stores.append(Stored(offset - POOL_CELLS * WORD, labels, where))

    def get(self, offset: int, size: int) -> int:
        return int.from_bytes(self.memory[offset : offset + size], "little")

    def move(self) -> None:
        a, b = self.pick_two()
        size = self.random.choice((8, 4, 1))
        self.write_part(a, size, self.name(b, size))
        value, labels = self.registers[b].read(size)
        self.registers[a].write(value, size, labels)

    def constant(self) -> None:
        number, register = self.pick()
        size, value = self.random.choice(SIZES), self.random.randrange(100)
        self.write_part(number, size, f"${value}")
        register.write(value, size, NOTHING)

    def load(self) -> None:
        number, register = self.pick()
        size = self.random.choice(SIZES)
        offset = self.place(size)
        self.write_part(number, size, self.address(offset))
        register.write(self.get(offset, size), size, self.labels_at(offset, size))

    def store(self) -> None:
        number, register = self.pick()
        size = self.random.choice((8, 4, 1))
        offset = self.place(size)
        value, labels = register.read(size)
        self.say(f"mov {self.name(number, size)}, {self.address(offset)}")
        self.put(offset, value.to_bytes(size, "little"), labels)

    def arithmetic(self) -> None:
        a, b = self.pick_two()
        x, y = self.registers[a], self.registers[b]
        operation = self.random.choice(("add", "sub", "and", "or", "xor"))
        results = {"add": x.value + y.value, "sub": x.value - y.value, "and": x.value & y.value}
        results |= {"or": x.value | y.value, "xor": x.value ^ y.value}
        self.new_block()
        self.say(f"{operation} {self.name(b)}, {self.name(a)}")
        x.write(results[operation] & MASK, WORD, x.labels | y.labels)

    def clear(self) -> None:
        number, register = self.pick()
        self.say(f"{self.random.choice(('xor', 'sub'))} {self.name(number)}, {self.name(number)}")
        register.write(0, WORD, NOTHING)

    def exchange(self) -> None:
        number, register = self.pick()
        offset = self.random.randrange(CELLS) * WORD
        value, labels = register.value, register.labels
        self.say(f"xchg {self.name(number)}, {self.address(offset)}")
        register.write(self.get(offset, WORD), WORD, self.labels_at(offset, WORD))
        self.put(offset, value.to_bytes(WORD, "little"), labels)

    def compare(self) -> tuple[bool, Labels]:
        """Whether one register is below another one; the next instruction may ask."""
        a, b = self.pick_two()
        x, y = self.registers[a], self.registers[b]
        self.new_block()
        self.say(f"cmp {self.name(b)}, {self.name(a)}")
        if self.random.random() < 0.5:
            self.new_block()
        return x.value < y.value, x.labels | y.labels

    def choose(self) -> None:
        holds, condition = self.compare()
        a, b = self.pick_two()
        chosen = self.registers[b if holds else a]
        value, labels = chosen.value, chosen.labels | condition
        self.new_block()
        self.say(f"cmovb {self.name(b)}, {self.name(a)}")
        self.registers[a].write(value, WORD, labels)

    def set_byte(self) -> None:
        holds, condition = self.compare()
        number, register = self.pick()
        self.new_block()
        self.say(f"setb {self.name(number, 1)}")
        register.write(int(holds), 1, condition)

    def through(self) -> None:
        """A load or a store through a register that holds the number of a cell outside the pool."""
        a, b = self.pick_two()
        index, other = self.registers[a], self.registers[b]
        self.new_block()
        self.say(f"and $7, {self.name(a)}")
        index.write(index.value & 7, WORD, index.labels)
        to_pool = self.random.random() < 0.5
        offset = (index.value + (0 if to_pool else POOL_CELLS)) * WORD
        place = f"({'%r14' if to_pool else '%r15'},{self.name(a)},8)"
        if self.random.random() < 0.5:
            self.say(f"mov {place}, {self.name(b)}")
            other.write(self.get(offset, WORD), WORD, self.labels_at(offset, WORD) | index.labels)
        else:
            self.say(f"mov {self.name(b)}, {place}")
            self.put(offset, other.value.to_bytes(WORD, "little"), other.labels, index.labels)

    def wide_copy(self) -> None:
        """16 or 32 bytes at once, which keep the labels of each word."""
        words, register, operation = self.random.choice(((2, "%xmm0", "movups"), (4, "%ymm0", "vmovdqu")))
        source = self.random.choice((0, POOL_CELLS)) + self.random.randrange(POOL_CELLS - words + 1)
        target = self.random.choice((0, POOL_CELLS)) + self.random.randrange(POOL_CELLS - words + 1)
        self.say(f"{operation} {self.address(source * WORD)}, {register}")
        self.say(f"{operation} {register}, {self.address(target * WORD)}")
        copied = bytes(self.memory[source * WORD : (source + words) * WORD])
        labels = [self.labels_at((source + i) * WORD, WORD) for i in range(words)]
        self.put(target * WORD, copied, frozenset().union(*labels))
        for i, own in enumerate(labels):
            self.labels[(target + i) * WORD : (target + i + 1) * WORD] = [own] * WORD

    def push_pop(self) -> None:
        a, b = self.pick_two()
        self.say(f"push {self.name(a)}", f"pop {self.name(b)}")
        self.registers[b].write(self.registers[a].value, WORD, self.registers[a].labels)
