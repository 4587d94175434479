"""Insert three documents and say which are in."""

from tinydb import TinyDB

with TinyDB("data/db.json") as database:
    for number in (1, 2, 3):
        database.insert({"number": number, "text": f"document {number} " * 20})
        print("inserted", number, flush=True)
