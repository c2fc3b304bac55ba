package access

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"go.yaml.in/yaml/v3"

	"github.com/waitcast/waitcast/internal/token"
)

// tokens finds callers by the hash of their token. The time of a look-up depends only on the hash of the guessed
// token, so it reveals nothing about valid tokens.
type tokens map[[sha256.Size]byte]Caller

// errShared means that everybody can write the tokens file. Anybody could then add an administrator.
var errShared = errors.New("everybody may write it: chmod o-w")

// readTokens reads a tokens file.
func readTokens(path string) (tokens, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o002 != 0 {
		return nil, fmt.Errorf("%s: %w", path, errShared)
	}
	out, err := parseTokens(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}

// parseTokens parses a file of tokens strictly; an empty file has none.
func parseTokens(content []byte) (tokens, error) {
	var list []yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(content)).Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("want a list of {name, role, user, sha256}: %w", err)
	}
	out, names := tokens{}, map[string]bool{}
	for i := range list {
		text, err := yaml.Marshal(&list[i])
		if err != nil {
			return nil, err
		}
		var t token.Token
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("line %d: token %d: %w", list[i].Line, i+1, err)
		}
		caller, hash, err := callerOf(&t)
		switch _, twice := out[hash]; {
		case err != nil:
		case names[t.Name]:
			err = errors.New("another token has the same name")
		case twice:
			err = errors.New("another token has the same sha256")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: token %d (%q): %w", list[i].Line, i+1, t.Name, err)
		}
		names[t.Name], out[hash] = true, caller
	}
	return out, nil
}

// callerOf checks a token and returns its caller.
func callerOf(t *token.Token) (c Caller, hash [sha256.Size]byte, err error) {
	c = Caller{User: t.User, Credential: "token " + t.Name}
	if c.Role, err = ParseRole(t.Role); err != nil {
		return c, hash, fmt.Errorf("role: %w", err)
	}
	sum, err := hex.DecodeString(t.SHA256)
	switch {
	case t.Name == "":
		return c, hash, errors.New("name is not set")
	case c.Role == None:
		return c, hash, errors.New("role none: remove the token instead")
	case c.Role == User && t.User == "":
		return c, hash, errors.New("user is not set: whose jobs may a token of the role user see?")
	case err != nil || len(sum) != sha256.Size:
		return c, hash, errors.New("sha256 is not 64 hexadecimal digits; waitcast token new prints the line")
	}
	return c, [sha256.Size]byte(sum), nil
}
