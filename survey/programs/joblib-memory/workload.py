"""Call a cached function with two arguments and say which call has returned."""

from joblib import Memory
from table import table

cached = Memory("data/cache", verbose=0).cache(table)
for number in (1, 2):
    cached(number)
    print("cached", number, flush=True)
