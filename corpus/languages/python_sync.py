import os
import sys

FIXED = sys.argv[1:] == ["fixed"]


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def config():
    descriptor = os.open("config.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(descriptor, b"theme = dark\n")  # LOST config
    if FIXED:
        os.fsync(descriptor)
    os.close(descriptor)
    os.rename("config.new", "config")  # SURVIVED config


def entry():
    with open("entry.new", "w") as file:
        file.write("entry 1\n")
        file.flush()
        os.fsync(file.fileno())
    os.rename("entry.new", "entry")  # LOST entry
    if FIXED:
        sync(".")
    print("entry")  # ACKED entry


def table():
    name = "table.new" if FIXED else "table"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # SURVIVED table
    os.write(descriptor, b"new new new\n")  # LOST table
    os.fsync(descriptor)
    os.close(descriptor)
    if FIXED:
        os.rename(name, "table")


def journal():
    with open("journal", "a") as file:
        file.write("paid 10\n")
        file.flush()  # LOST journal
        if FIXED:
            os.fsync(file.fileno())
        print("paid")  # ACKED journal
        os.fsync(file.fileno())


def order():
    with open("blob", "rb+", 0) as blob, open("index", "rb+", 0) as index:
        blob.write(b"blob blob\n")  # LOST order
        if FIXED:
            os.fsync(blob.fileno())
        index.write(b"blob at 0\n")  # SURVIVED order
        os.fsync(index.fileno())
        os.fsync(blob.fileno())


for mistake in (config, entry, table, journal, order):
    mistake()
    sync(".")
