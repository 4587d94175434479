import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

FIXED = sys.argv[1:] == ["fixed"]


async def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    await asyncio.to_thread(os.fsync, descriptor)
    os.close(descriptor)


async def config():
    descriptor = os.open("config.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    await asyncio.to_thread(os.write, descriptor, b"theme = dark\n")  # LOST config
    if FIXED:
        await asyncio.to_thread(os.fsync, descriptor)
    os.close(descriptor)
    await asyncio.to_thread(os.rename, "config.new", "config")  # SURVIVED config


async def entry():
    loop = asyncio.get_running_loop()
    with open("entry.new", "w") as file:
        file.write("entry 1\n")
        file.flush()
        os.fsync(file.fileno())
    await loop.run_in_executor(None, os.rename, "entry.new", "entry")  # LOST entry
    if FIXED:
        await sync(".")
    print("entry")  # ACKED entry


async def table():
    name = "table.new" if FIXED else "table"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # SURVIVED table
    with ThreadPoolExecutor(1) as pool:
        pool.submit(os.write, descriptor, b"new new new\n").result()  # LOST table
    await sync(name)
    os.close(descriptor)
    if FIXED:
        os.rename(name, "table")


async def journal():
    file = open("journal", "ab", 0)
    with ThreadPool(1) as pool:
        pool.apply(file.write, (b"paid 10\n",))  # LOST journal
    if FIXED:
        await sync("journal")
    print("paid")  # ACKED journal
    await sync("journal")


async def write(file, data):
    await asyncio.to_thread(file.write, data)


async def order():
    with open("blob", "rb+", 0) as blob, open("index", "rb+", 0) as index:
        await write(blob, b"blob blob\n")  # LOST order
        if FIXED:
            await sync("blob")
        await write(index, b"blob at 0\n")  # SURVIVED order
        await sync("index")
        await sync("blob")


async def main():
    for mistake in (config, entry, table, journal, order):
        await mistake()
        await sync(".")


asyncio.run(main())
