"""Write a table over a parquet file twice and say which version is written. An argument: version 0 only."""

import sys

import pandas

for version in (0,) if len(sys.argv) > 1 else (1, 2):
    values = [(number * 2654435761 + version) % 4294967296 / 3 for number in range(4000)]
    pandas.DataFrame({"value": values}).to_parquet("data/rows.parquet")
    print("written", version, flush=True)
