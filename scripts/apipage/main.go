// Command apipage generates docs/api.md and docs/api-objects.md from the OpenAPI document that the daemon serves.
//
//	go generate ./api
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: apipage FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "apipage:", err)
		os.Exit(1)
	}
}

// write writes the pages into a folder.
func write(folder string) error {
	pages, err := generate()
	if err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
