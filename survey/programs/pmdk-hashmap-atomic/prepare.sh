# Compile PMDK's mapcli and its check (see corpus/pmdk) from Debian's sources. Arguments: the folder of corpus/pmdk, the map.
set -e
examples=/usr/share/doc/libpmemobj-dev/examples
maps="$examples/map/map.c $examples/map/map_*.c $examples/tree_map/*tree_map.c $examples/hashmap/hashmap_*.c"
for program in "$examples/map/mapcli.c" "$1/map_check.c"; do
    # shellcheck disable=SC2086
    gcc -g -O1 -w -I"$1" -I$examples -I$examples/map -I$examples/tree_map -I$examples/hashmap -I$examples/list_map \
        -o "$(basename "$program" .c)" "$program" $maps $examples/list_map/skiplist_map.c -lpmemobj -lpmem -pthread
done
gcc -g -w -I"$1" -o make_pool "$1/make_pool.c" -lpmemobj
export PMEM_IS_PMEM_FORCE=1
./make_pool data/pool map
printf 'i 1\ni 2\n' | ./mapcli "$2" data/pool 1 >/dev/null
printf 'i 10\nc 10\nr 1\nc 1\n' >commands # a removal makes the table smaller
