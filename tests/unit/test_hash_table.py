"""native/hash_table.h against Python's dict: any order of taking, finding and removing, with hashes that collide."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
SOURCE = r"""
#include "hash_table.h"

struct entry { uint32_t key, value; };
static bool few_used(const struct entry *slot) { return slot->value != 0; }
static uint32_t few_key(const struct entry *slot) { return slot->key; }
static uint64_t few_hash(uint32_t key) { return key % 5 * 3; } /* as bad as can be: most meet */
static bool few_same(uint32_t one, uint32_t other) { return one == other; }
PC_HASH_TABLE(few, struct entry, uint32_t, 4)

struct few *make(void) { return calloc(1, sizeof(struct few)); }
void drop(struct few *table) { few_free(table); free(table); }
uint32_t get(const struct few *table, uint32_t key) {
    const struct entry *slot = few_find(table, key);
    return slot == NULL ? 0 : slot->value;
}
uint32_t put(struct few *table, uint32_t key, uint32_t value) {
    struct entry *slot = few_take(table, key);
    uint32_t before = slot->value;
    *slot = (struct entry){key, value};
    return before;
}
void leave(struct few *table, uint32_t key) {
    struct entry *slot = few_find(table, key);
    if (slot != NULL)
        few_remove(table, slot);
}
int reserve(struct few *table, size_t count) { return few_reserve(table, count); }
size_t count(const struct few *table) { return table->count; }
size_t size(const struct few *table) { return table->size; }
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    library = tmp_path_factory.mktemp("table") / "table.so"
    flags = ["-shared", "-fPIC", "-g", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native'}"]
    subprocess.run(["gcc", *flags, "-x", "c", "-", "-o", str(library)], input=SOURCE.encode(), check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.make.restype = ctypes.c_void_p
    loaded.count.restype = loaded.size.restype = ctypes.c_size_t
    return loaded


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(("put", "put", "leave", "get", "reserve")), st.integers(0, 30), st.integers(1, 99)),
    max_size=150,
)


@settings(max_examples=300, deadline=None)
@given(operations=OPERATIONS)
def test_a_table_holds_what_a_dict_would(table: ctypes.CDLL, operations: list[tuple[str, int, int]]) -> None:
    made, twin = ctypes.c_void_p(table.make()), dict[int, int]()
    for what, key, value in operations:
        if what == "put":
            assert table.put(made, key, value) == twin.get(key, 0)
            twin[key] = value
        elif what == "leave":
            table.leave(made, key)
            twin.pop(key, None)
        elif what == "reserve":
            assert table.reserve(made, ctypes.c_size_t(value)) == 1
            assert table.size(made) >= 2 * value
        assert table.get(made, key) == twin.get(key, 0)
        assert table.count(made) == len(twin) and (not twin or table.size(made) >= 2 * len(twin))
    assert {key: table.get(made, key) for key in range(31) if table.get(made, key)} == twin
    table.drop(made)
