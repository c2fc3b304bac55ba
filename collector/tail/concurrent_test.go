package tail

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestConcurrentWriter uses a real writer, real events and the race detector: while the log is written and rotated, the
// tailer is closed and reopened at its last committed checkpoint.
func TestConcurrentWriter(t *testing.T) {
	const lines = 5000
	path := filepath.Join(t.TempDir(), "log")
	wrote := make(chan error, 1)
	go func() { wrote <- writeRotating(path, lines) }()
	rng := rand.New(rand.NewPCG(1, 2))
	var ckpt []byte
	next := 1
	for next <= lines {
		tl, err := New(Config{Source: "test", Path: path, Poll: 20 * time.Millisecond, BatchLines: 100},
			ckpt, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(20) {
			if next > lines {
				break
			}
			b := pull(t, tl)
			if rng.IntN(10) == 0 {
				break // killed before the commit
			}
			for _, l := range b.Lines {
				if string(l.Text) != strconv.Itoa(next) {
					t.Fatalf("got %q, want %d", l.Text, next)
				}
				next++
			}
			ckpt = b.Checkpoint
		}
		if err := tl.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
}

func writeRotating(path string, lines int) error {
	rng := rand.New(rand.NewPCG(3, 4))
	var f *os.File
	var err error
	for i, files := 1, 0; i <= lines && err == nil; i++ {
		if f == nil {
			if f, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintln(f, i)
		if rng.IntN(500) == 0 {
			files++
			err = errors.Join(err, os.Rename(path, fmt.Sprintf("%s-%04d", path, files)), f.Close())
			f = nil
		}
	}
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	return err
}
