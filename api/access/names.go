package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/waitcast/waitcast/internal/wholefile"
)

const (
	// keyBytes is the length of the key with which names are hashed: the length of the hash (RFC 2104, section 3).
	keyBytes = 32
	// hashLetters is the number of letters of a hash that are shown, 5 bits each. Among 10,000 users the probability
	// that two share a hash is below 1 in 20,000.
	hashLetters = 8
)

// Names hashes users' names with a key of this daemon. A user always has the same hash. Without the key nobody can
// compute the hashes of a list of names.
type Names struct{ key []byte }

// LoadNames reads the key from its file, which it creates if it is missing.
func LoadNames(path string) (*Names, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, keyBytes)
		_, _ = rand.Read(key) // it never fails
		err = wholefile.WriteBytes(path, 0o600, key)
	}
	if err != nil {
		return nil, fmt.Errorf("the key of hashed names: %w", err)
	}
	if len(key) != keyBytes {
		return nil,
			fmt.Errorf("the key of hashed names: %s has %d bytes, want %d: remove it, and another one is made "+
				"(hashes change)", path, len(key), keyBytes)
	}
	return &Names{key}, nil
}

// Hash returns the text that is shown instead of a name: "u-" and the first hashLetters letters and digits, in base 32,
// of its HMAC-SHA-256 (RFC 2104).
func (n *Names) Hash(name string) string {
	mac := hmac.New(sha256.New, n.key)
	mac.Write([]byte(name))
	return "u-" + strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)))[:hashLetters]
}
