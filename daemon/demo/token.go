package demo

import (
	"os"
	"path/filepath"

	"github.com/waitcast/waitcast/internal/token"
)

// tokenFile returns the path of the file in the demonstration's folder that has the token of a simulated user.
func tokenFile(dir string) string { return filepath.Join(dir, "user-token") }

// writeToken generates a token for the simulated user who submits the most jobs. It writes the token into file. It
// writes the entry by which the daemon recognizes the token into known.
func writeToken(known, file string) error {
	text := token.New()
	t := &token.Token{Name: "demo", Role: "user", User: userName(0), SHA256: token.Hash(text)}
	line, err := t.Line()
	if err != nil {
		return err
	}
	if err := os.WriteFile(known, []byte(line), 0o600); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text+"\n"), 0o600)
}
