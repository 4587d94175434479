"""Append three rows to a Delta table, twice, and say which commit is done. Argument: how many times."""

import sys

from arro3.core import Array, DataType, Table
from deltalake import write_deltalake

times = int(sys.argv[1]) if len(sys.argv) > 1 else 2
for number in range(1, times + 1) if times else (0,):
    rows = Table.from_pydict({"number": Array([number] * 3, DataType.int64())})
    write_deltalake("data/table", rows, mode="append")
    print("committed", number, flush=True)
