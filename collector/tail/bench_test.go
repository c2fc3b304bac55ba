package tail

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkRead reads 100 MB of lines of 150 bytes.
func BenchmarkRead(b *testing.B) {
	line := append(bytes.Repeat([]byte{'x'}, 149), '\n')
	path := filepath.Join(b.TempDir(), "log")
	data := bytes.Repeat(line, 100_000_000/len(line))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		t, err := New(Config{Source: "bench", Path: path, OneShot: true}, nil, Options{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			batch, err := t.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n += len(batch.Lines)
		}
		if want := len(data) / len(line); n != want {
			b.Fatalf("%d lines, want %d", n, want)
		}
		if err := t.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend measures the time from writing one line to its delivery by a reader that a file system event wakes.
func BenchmarkAppend(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		b.Fatal(err)
	}
	t, err := New(Config{Source: "bench", Path: path}, nil, Options{})
	if err != nil {
		b.Fatal(err)
	}
	line := append(bytes.Repeat([]byte{'x'}, 149), '\n')
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		for n := 0; n == 0; {
			batch, err := t.Next(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			n = len(batch.Lines)
		}
	}
	if err := errors.Join(t.Close(), f.Close()); err != nil {
		b.Fatal(err)
	}
}
