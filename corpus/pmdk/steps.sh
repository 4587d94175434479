#!/bin/sh
# steps.sh PROGRAM POOL STEPS: run "PROGRAM POOL STEP" for each line of the file STEPS, and say when it is done.
set -eu
number=0
while read -r step; do
    # shellcheck disable=SC2086
    "$1" "$2" $step >/dev/null </dev/null
    number=$((number + 1))
    echo "done $number"
done <"$3"
