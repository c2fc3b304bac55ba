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
	"path/filepath"
	"strings"
)

const (
	// keyBytes is the length of the key that names are hashed with: that of the hash (RFC 2104, section 3).
	keyBytes = 32
	// hashLetters is how many letters of a hash are shown, 5 bits each: among 10,000 users two share one with a
	// probability below 1 in 20,000.
	hashLetters = 8
)

// Names hashes users' names with a key of this daemon, so that one user always has one hash, which nobody can make of a
// list of names without the key.
type Names struct{ key []byte }

// LoadNames reads the key from its file, which is made where it is missing.
func LoadNames(path string) (*Names, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, keyBytes)
		_, _ = rand.Read(key) // it never fails
		err = writeKey(path, key)
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

// writeKey makes the file, whole or not at all.
func writeKey(path string, key []byte) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".names-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temporary.Name()))
		}
	}()
	_, err = temporary.Write(key)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// Hash returns what is shown in a name's stead: "u-" and letters and digits of its HMAC-SHA-256 (RFC 2104).
func (n *Names) Hash(name string) string {
	mac := hmac.New(sha256.New, n.key)
	mac.Write([]byte(name))
	return "u-" + strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)))[:hashLetters]
}
