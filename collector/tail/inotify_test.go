package tail

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"
)

// watched starts a tailer whose first poll would come long after the end of the test.
func watched(t *testing.T, cfg Config) *Tailer {
	t.Helper()
	cfg.Source, cfg.Poll = "test", time.Hour
	tl, err := New(cfg, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tl.watcher == nil {
		t.Skip("inotify: the system has no instances left")
	}
	t.Cleanup(func() {
		if err := tl.Close(); err != nil {
			t.Error(err)
		}
	})
	return tl
}

func pull(t *testing.T, tl *Tailer) Batch {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	b, err := tl.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pullLine(t *testing.T, tl *Tailer) string {
	t.Helper()
	for {
		if b := pull(t, tl); len(b.Lines) > 0 {
			return string(b.Lines[0].Text)
		}
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Error(err)
	}
}

// TestEventsWake proves that file system events alone, without a poll, wake the tailer after an append, the creation of
// the file, and a rotation.
func TestEventsWake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	tl := watched(t, Config{Path: path})
	if b := pull(t, tl); len(b.Problems) != 1 {
		t.Fatalf("want missing, got %v", b.Problems)
	}
	for i, step := range []func(){
		func() { appendTo(t, path, "0\n") },
		func() { appendTo(t, path, "1\n") },
		func() {
			if err := os.Rename(path, path+".1"); err != nil {
				t.Error(err)
			}
			appendTo(t, path, "2\n")
		},
		func() { appendTo(t, path, "3\n") },
	} {
		go step()
		if got, want := pullLine(t, tl), string(rune('0'+i)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// TestEventsInDirectory proves that a new file in a watched directory wakes the tailer.
func TestEventsInDirectory(t *testing.T) {
	dir := t.TempDir()
	tl := watched(t, Config{Path: dir, Pattern: "2026*"})
	pull(t, tl)
	go appendTo(t, filepath.Join(dir, "20261120"), "a\n")
	if got := pullLine(t, tl); got != "a" {
		t.Fatalf("got %q", got)
	}
}

// TestEventsBehindSymlink proves that events come from the directory of a symbolic link's target.
func TestEventsBehindSymlink(t *testing.T) {
	real, dir := filepath.Join(t.TempDir(), "real"), t.TempDir()
	appendTo(t, real, "a\n")
	if err := os.Symlink(real, filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	tl := watched(t, Config{Path: filepath.Join(dir, "log")})
	pullLine(t, tl)
	go appendTo(t, real, "b\n")
	if got := pullLine(t, tl); got != "b" {
		t.Fatalf("got %q", got)
	}
}

// TestEventOverflow proves that if events are lost because their queue overflowed, everything counts as changed.
func TestEventOverflow(t *testing.T) {
	w := newWatcher(func(string) bool { return true }, zap.NewNop())
	if w == nil {
		t.Skip("inotify: the system has no instances left")
	}
	go func() { w.fs.Errors <- fsnotify.ErrEventOverflow }()
	<-w.wake
	if !w.renamed.Load() {
		t.Error("an overflow must make the reader look at the names again")
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
}

// TestPollOnly proves that without any file system events, polls find new lines and rotations.
func TestPollOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	tl, err := New(Config{Source: "test", Path: path, NoInotify: true, Poll: time.Millisecond}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tl.watcher != nil {
		t.Error("no events were wanted")
	}
	go appendTo(t, path, "0\n")
	if got := pullLine(t, tl); got != "0" {
		t.Fatalf("got %q", got)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	go appendTo(t, path, "1\n")
	if got := pullLine(t, tl); got != "1" {
		t.Fatalf("got %q", got)
	}
	if err := tl.Close(); err != nil {
		t.Error(err)
	}
}

// TestCancel proves that a cancelled context ends a waiting Next, which returns the context's error.
func TestCancel(t *testing.T) {
	tl := watched(t, Config{Path: filepath.Join(t.TempDir(), "log")})
	pull(t, tl)
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if _, err := tl.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
