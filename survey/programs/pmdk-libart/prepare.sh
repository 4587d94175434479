# Compile the program with the example's source from Debian, and make the tree. Argument: the folder of the code.
set -e
gcc -g -O1 -w -I/usr/share/doc/libpmemobj-dev/examples/libart -o program "$1/program.c" -lpmemobj -lpmem
PMEM_IS_PMEM_FORCE=1 ./program data/pool start
