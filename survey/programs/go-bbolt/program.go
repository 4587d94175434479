// Three entries, each in a transaction of its own. Arguments: "start" makes an empty bucket, "check" is the check.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"
)

func key(number int) []byte   { return []byte(fmt.Sprintf("key-%d", number)) }
func value(number int) []byte { return []byte(strings.Repeat(fmt.Sprintf("value %d ", number), 200)) }

func open(path string) *bolt.DB {
	database, err := bolt.Open(path, 0o644, nil)
	must(err)
	return database
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func put() {
	database := open("data/bolt.db")
	for number := 1; number <= 3; number++ {
		must(database.Update(func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("entries")).Put(key(number), value(number))
		}))
		fmt.Println("committed", number)
	}
	must(database.Close())
}

// The database must be consistent and hold every entry that was committed.
func check() {
	database := open(filepath.Join(os.Getenv("POWERCUT_DIR"), "bolt.db"))
	told, err := os.ReadFile(os.Getenv("POWERCUT_ACKED"))
	must(err)
	must(database.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		for number := 1; number <= strings.Count(string(told), "\n"); number++ {
			if string(tx.Bucket([]byte("entries")).Get(key(number))) != string(value(number)) {
				return fmt.Errorf("committed and lost: %d", number)
			}
		}
		return nil
	}))
}

func main() {
	switch {
	case len(os.Args) == 1:
		put()
	case os.Args[1] == "check":
		check()
	default:
		must(open("data/bolt.db").Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucket([]byte("entries"))
			return err
		}))
	}
}
