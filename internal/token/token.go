// Package token makes bearer tokens, and the lines by which a tokens file knows them.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"go.yaml.in/yaml/v3"
)

// Token is one line of the tokens file: a token by its hash, and what it is good for.
type Token struct {
	// Name identifies it in logs.
	Name string `yaml:"name" json:"name"`
	// Role is public, user or admin.
	Role string `yaml:"role" json:"role"`
	// User is whose jobs are its own; a token of the role user needs it.
	User string `yaml:"user,omitempty" json:"user,omitempty"`
	// SHA256 is the hash of the token, 64 hexadecimal digits. A token of New has 130 random bits, so that its hash need
	// not be salted or slow.
	SHA256 string `yaml:"sha256" json:"sha256"`
}

// New returns a new random token of 26 letters and digits (130 bits).
func New() string { return rand.Text() }

// Hash returns the hash that the tokens file holds of a token.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Line returns the token as the tokens file has it.
func (t *Token) Line() (string, error) {
	text, err := yaml.Marshal([]*Token{t})
	return string(text), err
}
