"""What code of others looks like: patterns of their sources, modules and functions.

Before: the parts of a frame as the trace and debug information have them. After: whether that is of the C library, of a
language's own, of a package, or of a program that runs those of the user (`symbols` asks these patterns).
"""

from __future__ import annotations

import re

STANDARD_LIBRARY = re.compile(r"/lib(64)?/python3(\.\d+)?/|/python3\d+\.zip/|/(site|dist)-packages/")
SYSTEM_LIBRARY = re.compile(r"(/usr)?/lib(32|64|x32)?/")

_GO = (
    r"(.*/go[^/]*/src/)?(archive|bufio|bytes|compress|crypto|database|encoding|fmt|go|html|image|index|internal|io|log"
    r"|mime|net|os|path|runtime|strings|sync|syscall|testing|text|vendor)/([^/]+/)*[^/]+\.(go|s)"
)
"""What comes with Go, wherever that lies; with -trimpath, nowhere."""

LIBRARY_SOURCE = re.compile(
    r"/usr/(local/)?(include|lib)/|/usr/share/(cargo/registry|gocode)/|/(usr/src|build)/rustc-|/rustc/|.*/rustlib/src/"
    r"|.*/\.cargo/(registry|git)/|/usr/local/go/src/|.*/pkg/mod/|[^/][^@]*@v\d|.*/vendor/[^/]+\.[^/]+/.*\.(go|s|c|h)"
    rf"|(.*/)?(_cgo_gotypes\.go|cgo-g[^/]*)|{_GO}"
)
"""Headers, packages and generic code of others that the compiler put into the user's program.

Go's -trimpath leaves the path of the package, with its version where it is not the user's own. A vendor/ folder has
those of others below the names of their hosts.
"""

C_LIBRARY = re.compile(r"(libc|libpthread|libm|libdl|librt|ld)[-.].*")
C_FUNCTIONS = re.compile(
    r"(_*(GI_)*_*(libc_)?)?"
    r"(p?writev?(64)?(v2)?|pwrite|open(at)?(64)?(_nocancel)?|creat(64)?|close|fsync|fdatasync|sync(fs)?|rename(at2?)?"
    r"|unlink(at)?|rmdir|mkdir(at)?|link(at)?|symlink(at)?|f?truncate(64)?|fallocate(64)?|posix_fallocate(64)?"
    r"|sendfile(64)?|copy_file_range|msync|mmap(64)?|syscall|remove|fflush|fclose|fopen|fwrite|fputs|puts|v?f?d?printf"
    r"|send(to|msg)?|_?IO_.*|new_do_write|start_thread|clone3?|libc_start.*|_start)"
)

RUNTIME = re.compile(
    r"(node(js)?|deno|bun|java|ruby|perl|php|lua|luajit|beam\.smp|guile|Rscript|R|dotnet|mono)[\d.]*"
    r"|(python|pypy)[\d.]*[a-z]*|libpython[\d.]*[a-z]*\.so[\d.]*"
)
TOOL = re.compile(
    r"(/usr)?/s?bin/((ba|da|z|k|a)?sh|busybox|mv|cp|ln|rm|mkdir|touch|tee|dd|cat|install|rsync|sed|[gm]?awk|truncate|tar"
    r"|gzip|sync|sort|head|tail|mktemp|unlink)"
)
"""Programs that run those of the user, and what shell scripts are made of: lines and functions of their own tell nobody
which mistake it is, and differ from build to build."""

LANGUAGE_SOURCE = re.compile(
    rf"/rustc/|.*/rustlib/src/|/usr/(local/)?include/c\+\+/|{_GO}"
    r"|.*/lib(64)?/python3(\.\d+)?/(?!(site|dist)-packages/)|<frozen "
)
LANGUAGE_MODULE = re.compile(r"lib(stdc\+\+|c\+\+(abi)?|std-[0-9a-f]+)\.so.*")
LANGUAGE_FUNCTION = re.compile(r"<?(std|core|alloc)::.*|_?<.* as (std|core|alloc)::.*")
