// Package token creates bearer tokens, and the lines of a tokens file that contain their hashes.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"go.yaml.in/yaml/v3"
)

// Token is one line of the tokens file: the hash of a token, and its rights.
type Token struct {
	// Name is the name of the token in logs.
	Name string `yaml:"name" json:"name"`
	// Role is "public", "user" or "admin".
	Role string `yaml:"role" json:"role"`
	// User is the user whose jobs the caller may see as own jobs. A token with the role user needs it.
	User string `yaml:"user,omitempty" json:"user,omitempty"`
	// SHA256 is the hash of the token, 64 hexadecimal digits. It needs no salt and no slow hash function, because a
	// token of New has 130 random bits.
	SHA256 string `yaml:"sha256" json:"sha256"`
}

// New returns a new random token of 26 letters and digits (130 bits).
func New() string { return rand.Text() }

// Hash returns the hash of a token that the tokens file contains.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Line returns the line of the tokens file for the token.
func (t *Token) Line() (string, error) {
	text, err := yaml.Marshal([]*Token{t})
	return string(text), err
}
