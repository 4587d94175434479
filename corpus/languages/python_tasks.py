import asyncio
import os
import sys

FIXED = sys.argv[1:] == ["fixed"]


async def elsewhere(function, *args):
    await asyncio.create_task(asyncio.to_thread(function, *args))


async def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    await elsewhere(os.fsync, descriptor)
    os.close(descriptor)


async def config():
    descriptor = os.open("config.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    await elsewhere(os.write, descriptor, b"theme = dark\n")  # LOST config
    if FIXED:
        await elsewhere(os.fsync, descriptor)
    os.close(descriptor)
    await elsewhere(os.rename, "config.new", "config")  # SURVIVED config


async def entry():
    with open("entry.new", "w") as file:
        file.write("entry 1\n")
        file.flush()
        os.fsync(file.fileno())
    await asyncio.gather(asyncio.to_thread(os.rename, "entry.new", "entry"))  # LOST entry
    if FIXED:
        await sync(".")
    print("entry")  # ACKED entry


async def table():
    name = "table.new" if FIXED else "table"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)  # SURVIVED table
    loop = asyncio.get_running_loop()
    loop.call_soon(os.write, descriptor, b"new new new\n")  # LOST table
    await asyncio.sleep(0)
    await sync(name)
    os.close(descriptor)
    if FIXED:
        os.rename(name, "table")


async def journal():
    file = open("journal", "ab", 0)
    asyncio.get_running_loop().call_later(0, file.write, b"paid 10\n")  # LOST journal
    while os.stat("journal").st_size == 0:
        await asyncio.sleep(0)
    if FIXED:
        await sync("journal")
    print("paid")  # ACKED journal
    await sync("journal")


async def order():
    with open("blob", "rb+", 0) as blob, open("index", "rb+", 0) as index:
        await elsewhere(blob.write, b"blob blob\n")  # LOST order
        if FIXED:
            await sync("blob")
        await elsewhere(index.write, b"blob at 0\n")  # SURVIVED order
        await sync("index")
        await sync("blob")


async def main():
    for mistake in (config, entry, table, journal, order):
        await mistake()
        await sync(".")


asyncio.run(main())
