"""Paths in ids: what a program draws by lot is left out, what tells two files apart stays."""

from __future__ import annotations

import pytest

from powercut.findings.targets import plain_path


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("queue/tmpq7x_aZ0b", "queue/tmpq7x_aZ0b"),  # Python draws small letters only
        ("queue/tmpq7x_az0b", "queue/#"),
        (".tmp_lk9e43wf", ".#"),  # tempfile with a prefix
        (".tmp_tqenvxty", ".#"),  # one in twelve has no digit
        ("config.json.tmp-a0b1c2d3", "config.json.#"),
        ("tmp_settings.json", "tmp_settings.json"),
        ("cache/99/79/3d09b5fdd5a3236542e1.val", "cache/#.val"),  # folders of a cache of many files
        ("objects/3f/a9c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7", "objects/#"),
        ("content-v2/sha512/6e/b6/bbd1a0a5b15aa878", "content-v2/sha#/#"),
        ("part-00000-188c5fda-37c5-48ce-bd3a-d532bded6b90-c000.parquet", "part-#-#-c#.parquet"),
        ("table1/ab/rows", "table1/ab/rows"),
        ("db/MANIFEST-000002", "db/MANIFEST-#"),
    ],
)
def test_what_is_drawn_by_lot_is_left_out(path: str, plain: str) -> None:
    assert plain_path(path) == plain
