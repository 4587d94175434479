// Replace a file three times and say which version is saved. Arguments: "start" writes the first version.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/google/renameio"
)

func main() {
	numbers := []int{1, 2, 3}
	if len(os.Args) > 1 {
		numbers = []int{0}
	}
	for _, number := range numbers {
		text := strings.Repeat(fmt.Sprintf("version %d\n", number), 500)
		if err := renameio.WriteFile("data/config", []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
		fmt.Println("saved", number)
	}
}
