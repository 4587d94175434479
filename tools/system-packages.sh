#!/bin/sh
# Makes sure the Debian packages that powercut builds and tests with are there: installs them when root,
# otherwise prints the exact command and stops. What is only wanted is not worth stopping for.
# With the word "browser": what tests of the HTML report want, beside that; with "compilers": what tests of lines want;
# with "kernel": what make test-kernel needs.
set -eu

missing=""
wanted=""
has() { # has COMMAND-OR-FILE
    case "$1" in
        /*) test -e "$1" ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}
need() { # need COMMAND-OR-FILE PACKAGE
    has "$1" || missing="$missing $2"
}
want() { # want FILE PACKAGE
    has "$1" || wanted="$wanted $2"
}

need gcc gcc
need g++ g++
need git git
need strace strace
need c++filt binutils
need python3 python3
need /usr/include/stdlib.h libc6-dev
need /usr/include/xxhash.h libxxhash-dev
want /usr/include/elfutils/libdw.h libdw-dev              # the lines of C and C++
want /usr/include/valgrind/pub_tool_tooliface.h valgrind # the memory tracer
want /usr/include/libpmem.h libpmem-dev                  # with the next one: the tests with PMDK
want /usr/include/libpmemobj.h libpmemobj-dev
if [ "${1:-}" = browser ]; then
    want chromium chromium
fi
if [ "${1:-}" = compilers ]; then # what tests compare lines with, and whose debug information they read
    want gdb gdb
    want clang clang
fi
if [ "${1:-}" = kernel ]; then
    PATH="$PATH:/usr/sbin:/sbin" # mkfs is not in every user's path
    want mkfs.ext4 e2fsprogs
    want mkfs.xfs xfsprogs
    want mkfs.btrfs btrfs-progs
    want pkg-config pkg-config
    want /usr/include/fuse3/fuse.h libfuse3-dev
fi

# The interpreter that will make the environment must bring its headers and venv with it.
python="${PYTHON:-python3}"
if command -v "$python" >/dev/null 2>&1; then
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || missing="$missing python3-venv"
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
        || missing="$missing python3-dev"
else
    missing="$missing python3-venv python3-dev"
fi

test -n "$missing$wanted" || exit 0
install() { # install PACKAGE...
    echo "powercut: installing missing packages: $*"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq || test -z "$missing"
    # shellcheck disable=SC2086
    test -z "$missing" || install $missing
    for package in $wanted; do
        install "$package" || echo "powercut: going on without $package" >&2
    done
elif [ -n "$missing" ]; then
    echo "powercut: these packages are missing. Install them, then run make again:" >&2
    echo "    sudo apt-get install$missing$wanted" >&2
    exit 1
else
    echo "powercut: going on without some packages. To have them, too: sudo apt-get install$wanted" >&2
fi
