# Compile rows.c of the folder $1 and make a database with two rows, so that the recorded run finds a log to replay.
set -e
cc -g -O1 -o rows "$1/rows.c" -lrocksdb
./rows put sync 2
