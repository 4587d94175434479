import os
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from threading import Thread

FIXED = sys.argv[1:] == ["fixed"]


def elsewhere(function, *args):
    thread = Thread(target=function, args=args)
    thread.start()
    thread.join()


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    elsewhere(os.fsync, descriptor)
    os.close(descriptor)


def config():
    descriptor = os.open("config.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    elsewhere(os.write, descriptor, b"theme = dark\n")  # LOST config
    if FIXED:
        elsewhere(os.fsync, descriptor)
    os.close(descriptor)
    elsewhere(os.rename, "config.new", "config")  # SURVIVED config


def entry():
    with open("entry.new", "w") as file:
        file.write("entry 1\n")
        file.flush()
        os.fsync(file.fileno())
    with ProcessPoolExecutor(1) as pool:
        pool.submit(os.rename, "entry.new", "entry").result()  # LOST entry
    if FIXED:
        sync(".")
    print("entry")  # ACKED entry


def table():
    name = "table.new" if FIXED else "table"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # SURVIVED table
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(os.write, [descriptor], [b"new new new\n"]))  # LOST table
    sync(name)
    os.close(descriptor)
    if FIXED:
        os.rename(name, "table")


def journal():
    file = open("journal", "ab", 0)
    elsewhere(file.write, b"paid 10\n")  # LOST journal
    if FIXED:
        sync("journal")
    print("paid")  # ACKED journal
    sync("journal")


def order():
    with open("blob", "rb+", 0) as blob, open("index", "rb+", 0) as index:
        elsewhere(blob.write, b"blob blob\n")  # LOST order
        if FIXED:
            sync("blob")
        elsewhere(index.write, b"blob at 0\n")  # SURVIVED order
        sync("index")
        sync("blob")


if __name__ == "__main__":
    for mistake in (config, entry, table, journal, order):
        mistake()
        sync(".")
