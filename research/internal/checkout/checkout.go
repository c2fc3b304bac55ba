// Package checkout lets the programs of this module work in the root of the repository: `go run -C research` begins
// them in its folder research.
package checkout

import (
	"bytes"
	"os"
)

// Enter makes the root of the repository the working directory if that is its folder research. All paths of a command
// line are then relative to the root, where the commands in pages and in the Makefile are given.
func Enter() {
	text, err := os.ReadFile("../go.mod")
	if err == nil && bytes.HasPrefix(text, []byte("module github.com/waitcast/waitcast\n")) {
		_ = os.Chdir("..") // if it fails, the program names the file that it does not find
	}
}
