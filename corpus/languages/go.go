package main

import (
	"fmt"
	"os"
)

var fixed = len(os.Args) > 1 && os.Args[1] == "fixed"

func sync(path string) {
	file, _ := os.Open(path)
	file.Sync()
	file.Close()
}

func config() {
	file, _ := os.Create("config.new")
	file.WriteString("theme = dark\n") // LOST config
	if fixed {
		file.Sync()
	}
	file.Close()
	os.Rename("config.new", "config") // SURVIVED config
}

func entry() {
	os.WriteFile("entry.new", []byte("entry 1\n"), 0o644)
	sync("entry.new")
	os.Rename("entry.new", "entry") // LOST entry
	if fixed {
		sync(".")
	}
	fmt.Println("entry") // ACKED entry
}

func table() {
	name := "table"
	if fixed {
		name = "table.new"
	}
	os.WriteFile(name, []byte("new new new\n"), 0o644) // SURVIVED table LOST table
	sync(name)
	if fixed {
		os.Rename(name, "table")
	}
}

func journal() {
	file, _ := os.OpenFile("journal", os.O_WRONLY|os.O_APPEND, 0)
	fmt.Fprintln(file, "paid 10") // LOST journal
	if fixed {
		file.Sync()
	}
	fmt.Println("paid") // ACKED journal
	file.Sync()
}

func order() {
	blob, _ := os.OpenFile("blob", os.O_RDWR, 0)
	index, _ := os.OpenFile("index", os.O_RDWR, 0)
	blob.Write([]byte("blob blob\n")) // LOST order
	if fixed {
		blob.Sync()
	}
	index.Write([]byte("blob at 0\n")) // SURVIVED order
	index.Sync()
	blob.Sync()
}

func main() {
	for _, mistake := range []func(){config, entry, table, journal, order} {
		mistake()
		sync(".")
	}
}
