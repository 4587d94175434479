#!/bin/sh
# Makes sure the Debian packages that powercut builds and tests with are there: installs them when root,
# otherwise prints the exact command and stops.
set -eu

missing=""
need() { # need COMMAND-OR-FILE PACKAGE
    case "$1" in
        /*) test -e "$1" || missing="$missing $2" ;;
        *) command -v "$1" >/dev/null 2>&1 || missing="$missing $2" ;;
    esac
}

need gcc gcc
need g++ g++
need git git
need strace strace
need addr2line binutils
need python3 python3
need /usr/include/stdlib.h libc6-dev
need /usr/include/libpmem.h libpmem-dev # with the next one: the tests with PMDK
need /usr/include/libpmemobj.h libpmemobj-dev

# The interpreter that will make the environment must bring its headers and venv with it.
python="${PYTHON:-python3}"
if command -v "$python" >/dev/null 2>&1; then
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || missing="$missing python3-venv"
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
        || missing="$missing python3-dev"
else
    missing="$missing python3-venv python3-dev"
fi

test -n "$missing" || exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "powercut: installing missing packages:$missing"
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
else
    echo "powercut: these packages are missing. Install them, then run make again:" >&2
    echo "    sudo apt-get install$missing" >&2
    exit 1
fi
