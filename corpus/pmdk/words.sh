#!/bin/sh
# words.sh WRITER POOL WORD: string_store's writer creates a pool and stores a word that it reads from its input.
# The library does not sync the folder in which it creates the file: that is done here, before the word is confirmed.
set -eu
echo "$3" | "$1" "$2"
sync "$(dirname "$2")"
echo "stored $3"
