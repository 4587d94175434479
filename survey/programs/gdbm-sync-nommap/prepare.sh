# Compile rows.c of the folder $1 and make a database without records.
set -e
cc -g -O1 -o rows "$1/rows.c" -lgdbm
./rows sync 0
