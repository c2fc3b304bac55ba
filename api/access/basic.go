package access

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// keptPasswords is the maximum number of correct passwords that are remembered. Checking a password with bcrypt takes
// 0.1 s by design, so a remembered password is not checked again. One more password makes all of them forgotten.
const keptPasswords = 1000

// passwords checks passwords against bcrypt hashes, one at a time.
type passwords struct {
	slots chan struct{} // semaphore: its holder may compute a hash

	mu   sync.Mutex
	good map[[sha256.Size]byte]struct{}
}

func newPasswords() *passwords {
	return &passwords{slots: make(chan struct{}, 1), good: map[[sha256.Size]byte]struct{}{}}
}

// known reports whether a name and password were verified before, with the same hash.
func (p *passwords) known(hash, name, password string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.good[passwordKey(hash, name, password)]
	return ok
}

func passwordKey(parts ...string) [sha256.Size]byte {
	var all strings.Builder
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p)) // fixed lengths make the concatenation unambiguous
		all.Write(sum[:])
	}
	return sha256.Sum256([]byte(all.String()))
}

// right computes whether a password belongs to a user, and remembers a correct one. It returns false if the context
// ends before the computation begins. It takes equally long for an unknown name, so that timing does not reveal names.
func (p *passwords) right(ctx context.Context, users map[string]string, name, password string) bool {
	hash, known := users[name]
	if !known {
		hash = anyHash(users)
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password))
	<-p.slots
	if err != nil || !known {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.good) >= keptPasswords {
		clear(p.good)
	}
	p.good[passwordKey(hash, name, password)] = struct{}{}
	return true
}

// anyHash returns the hash of one of the users, always of the same one.
func anyHash(users map[string]string) string {
	var names []string
	for name := range users {
		names = append(names, name)
	}
	return users[slices.Min(names)]
}
