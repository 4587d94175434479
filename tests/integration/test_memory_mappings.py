"""The memory tracer: which mappings count, where they are, and who else stores into them."""

from __future__ import annotations

from pathlib import Path

from powercut.trace.layout import Flag, Kind

from .memory_kit import MEMORY, Happening, assert_explained, happenings, needs_tool, store, trace

pytestmark = needs_tool


def test_only_shared_mappings_of_data_files_count(data: Path) -> None:
    body = r"""
    static void touch(const char *name, int flags, int open_flags) {
        int fd = must(open(name, open_flags, 0600));
        OK(ftruncate(fd, 4096));
        volatile char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, flags, fd, 0);
        p[5] = 1;
        __asm__ volatile("clwb (%0)" :: "r"(p) : "memory");
        munmap((void *)p, 4096);
    }
    int main(int argc, char **argv) {
        touch("private", MAP_PRIVATE, O_CREAT | O_RDWR);
        touch(argv[1], MAP_SHARED, O_CREAT | O_RDWR);
        fence();
        touch("shared", MAP_SHARED, O_CREAT | O_RDWR);
        touch("validated", MAP_SHARED_VALIDATE, O_CREAT | O_RDWR);
        touch(".", MAP_SHARED, O_TMPFILE | O_RDWR);
        return 0;
    }"""
    run = trace(data, body, data.parent / "outside")
    kinds = [event.kind for event in run.events(*MEMORY) if event.kind != Kind.FENCE]
    assert kinds == [Kind.STORE, Kind.FLUSH, Kind.UNMAP] * 3
    files = [event.inode for event in run.events(Kind.CREATE)]
    assert [event.inode for event in run.events(Kind.STORE)] == files[1:]
    assert_explained(run)


def test_mappings_that_move(data: Path) -> None:
    """Partial unmapping, mremap in all its forms, MAP_FIXED over a part, mprotect, a second mapping."""
    body = r"""
    #define PAGE 4096
    static void put(unsigned char *at, int value) { *(volatile unsigned char *)at = value; }
    int main(void) {
        unsigned char *room = mmap(0, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        unsigned char *p = map_file("f", 8 * PAGE, MAP_FIXED, room);
        put(p + 3 * PAGE, 1);
        OK(munmap(p + 2 * PAGE, PAGE));                      /* a hole */
        put(p, 2);
        put(p + 3 * PAGE, 3);
        if (mremap(p + 3 * PAGE, 5 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room + 20 * PAGE) == MAP_FAILED)
            return 1;
        put(room + 20 * PAGE, 4);                            /* page 3 of the file, in another place */
        if (mremap(room + 20 * PAGE, 6 * PAGE, 2 * PAGE, 0) == MAP_FAILED) return 2;
        put(room + 21 * PAGE, 5);                            /* page 4 */
        int fd = must(open("f", O_RDWR));
        unsigned char *again = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);   /* page 0, twice */
        put(again + 1, 6);
        put(p + 2, 7);
        if (mmap(p, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p) return 4;
        put(p, 8);                                           /* no file any more */
        put(p + PAGE, 9);                                    /* still page 1 */
        unsigned char *late = mmap(0, PAGE, PROT_READ, MAP_SHARED, fd, 5 * PAGE);
        OK(mprotect(late, PAGE, PROT_READ | PROT_WRITE));
        put(late, 10);
        OK(munmap(late, PAGE));
        return 0;
    }"""
    run = trace(data, body)
    page = 4096
    assert [event for event in happenings(run) if event.kind != Kind.FENCE] == [
        *store(3 * page, "01"),
        Happening(Kind.UNMAP, 2 * page, page),
        *store(0, "02"),
        *store(3 * page, "03"),
        *store(3 * page, "04"),
        Happening(Kind.UNMAP, 5 * page, 4 * page),
        *store(4 * page, "05"),
        *store(1, "06"),
        *store(2, "07"),
        Happening(Kind.UNMAP, 0, page),
        *store(page, "09"),
        *store(5 * page, "0a"),
        Happening(Kind.UNMAP, 5 * page, page),
    ]
    assert_explained(run)


def test_the_kernel_stores_into_mappings(data: Path) -> None:
    body = r"""
    int main(void) {
        unsigned char *p = map_file("f", 4096, 0, 0);
        int ends[2], pair[2];
        OK(pipe(ends));
        OK(write(ends[1], "0123456789", 10));
        if (read(ends[0], p + 6, 10) != 10) return 1;
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
        OK(write(pair[0], "abc", 3));
        struct iovec parts[2] = {{p + 64, 1}, {p + 128, 2}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        if (recvmsg(pair[1], &message, 0) != 3) return 2;
        OK(fstat(pair[1], (struct stat *)(p + 256)));
        return 0;
    }"""
    run = trace(data, body)
    stores = [event for event in happenings(run) if event.kind == Kind.STORE]
    assert all(event.flags & Flag.KERNEL for event in stores)
    assert stores[:5] == [
        Happening(Kind.STORE, 6, b"01", Flag.KERNEL),
        Happening(Kind.STORE, 8, b"23456789", Flag.KERNEL | Flag.REST),
        Happening(Kind.STORE, 64, b"a", Flag.KERNEL),
        Happening(Kind.STORE, 128, b"bc", Flag.KERNEL),
        Happening(Kind.STORE, 256, stores[4].what, Flag.KERNEL),
    ]
    assert_explained(run)
