// Three entries, each put on its own; then the log is compacted. Arguments: "sync" puts with WriteOptions.Sync, "check" is
// the check.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/util"
)

func key(number int) []byte   { return []byte(fmt.Sprintf("key-%d", number)) }
func value(number int) []byte { return []byte(strings.Repeat(fmt.Sprintf("value %d ", number), 200)) }

func open(path string) *leveldb.DB {
	database, err := leveldb.OpenFile(path, &opt.Options{Strict: opt.DefaultStrict})
	must(err)
	return database
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func put(first, last int, sync bool) {
	database := open("data/level")
	for number := first; number <= last; number++ {
		must(database.Put(key(number), value(number), &opt.WriteOptions{Sync: sync}))
		fmt.Println("put", number)
	}
	must(database.CompactRange(util.Range{}))
	must(database.Close())
}

// The database must open and hold the entry that was there before, and every entry that was put.
func check() {
	database := open(filepath.Join(os.Getenv("POWERCUT_DIR"), "level"))
	told, err := os.ReadFile(os.Getenv("POWERCUT_ACKED"))
	must(err)
	for number := 0; number <= strings.Count(string(told), "\n"); number++ {
		if found, err := database.Get(key(number), nil); err != nil || string(found) != string(value(number)) {
			log.Fatalf("put and lost: %d: %v", number, err)
		}
	}
}

func main() {
	switch {
	case len(os.Args) == 1:
		put(1, 3, false)
	case os.Args[1] == "sync":
		put(1, 3, true)
	case os.Args[1] == "check":
		check()
	default:
		put(0, 0, true)
	}
}
