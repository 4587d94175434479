"""What the allow-list covers, and what not."""

from __future__ import annotations

import pytest

from powercut.race.allow import AllowList
from powercut.trace.symbols import Frame

STORE, LOAD, EFFECT = (
    (Frame(function, f"/src/{file}", 1, "/bin/store"),)
    for function, file in (("put", "map.c"), ("get", "map.c"), ("append(int)", "log.c"))
)
PMDK = (Frame("palloc_operation", None, None, "/usr/lib/x86_64-linux-gnu/libpmemobj.so.1.0.0"),)


@pytest.mark.parametrize("place", ["log.c:append", "append", "*:append", "log.*:app*", "map.c:put", "get", "store:get"])
def test_a_place_of_store_load_or_effect_is_covered(place: str) -> None:
    allow = AllowList({place: "checksummed"})
    assert allow.covers(STORE, LOAD, EFFECT)
    assert allow.told() == [(place, "checksummed", 1)]


@pytest.mark.parametrize("place", ["log.c:put", "other.c:*", "appen", "src/log.c:append", "", ":"])
def test_other_places_are_not(place: str) -> None:
    allow = AllowList({place: "why"})
    assert not allow.covers(STORE, LOAD, EFFECT)
    assert allow.told() == []


def test_what_pmdk_does_inside_itself_is_covered_without_being_named() -> None:
    assert AllowList({}).covers(STORE, PMDK, EFFECT)
    assert AllowList({}).covers(STORE, LOAD, PMDK)


@pytest.mark.parametrize(
    ("function", "covered"), [("pmemobj_zalloc", False), ("pmemobj_free", False), ("pmemobj_tx_alloc", True)]
)
def test_what_pmdk_allocates_at_once_for_a_load_of_the_program_is_not(function: str, covered: bool) -> None:
    effect = (*PMDK, Frame(function, None, None, "/usr/lib/x86_64-linux-gnu/libpmemobj.so.1.0.0"), *EFFECT)
    assert AllowList({}).covers(STORE, LOAD, effect) == covered
    assert AllowList({}).covers(STORE, PMDK, effect)


def test_what_pmdk_stores_for_the_program_and_others_use_is_not() -> None:
    assert not AllowList({}).covers(PMDK, LOAD, EFFECT)
