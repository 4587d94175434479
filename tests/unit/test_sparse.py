"""Large files with few bytes in them cost what the bytes cost."""

from __future__ import annotations

from pathlib import Path

import powercut

TERABYTE = 1 << 40


def test_a_sparse_terabyte_is_crash_tested(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    with open(data / "pool", "wb") as file:
        file.truncate(TERABYTE)
        file.seek(TERABYTE // 2)
        file.write(b"middle")

    def grow() -> None:
        with open(data / "pool", "r+b") as file:
            file.seek(TERABYTE // 4)
            file.write(b"new")
            file.truncate(2 * TERABYTE)

    def check(folder: Path) -> None:
        with open(folder / "pool", "r+b") as file:  # opened for writing: the image is looked at anew each time
            file.seek(TERABYTE // 2)
            assert file.read(6) == b"middle"
            file.seek(TERABYTE // 4)
            assert file.read(3) in (b"new", bytes(3))

    run = powercut.explore(grow, check, dir=data, budget="20s")
    assert run.findings == []
    assert run.states["exhausted"]
