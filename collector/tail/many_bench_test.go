package tail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkManyFiles imports old files of 50 lines each: a directory of date-named files, and the rotated predecessors
// of a log. The time per line should not depend on the number of files.
func BenchmarkManyFiles(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("directory/%d", n), func(b *testing.B) {
			dir := b.TempDir()
			manyFiles(b, n, func(i int) string { return filepath.Join(dir, fmt.Sprintf("%08d", i)) })
			importAll(b, Config{Source: "bench", Path: dir, Pattern: "*"}, n)
		})
		b.Run(fmt.Sprintf("rotated/%d", n), func(b *testing.B) {
			dir := b.TempDir()
			manyFiles(b, n, func(i int) string {
				if i == n-1 {
					return filepath.Join(dir, "log")
				}
				return filepath.Join(dir, fmt.Sprintf("log.%d", n-1-i))
			})
			importAll(b, Config{Source: "bench", Path: filepath.Join(dir, "log")}, n)
		})
	}
}

const linesPerFile = 50

func manyFiles(b *testing.B, n int, path func(i int) string) {
	b.Helper()
	for i := range n {
		var text bytes.Buffer
		for j := range linesPerFile {
			fmt.Fprintf(&text, "%06d %02d %0140d\n", i, j, 0)
		}
		at := time.Unix(1_000_000_000+int64(i), 0)
		if err := errors.Join(os.WriteFile(path(i), text.Bytes(), 0o644), os.Chtimes(path(i), at, at)); err != nil {
			b.Fatal(err)
		}
	}
}

// importAll reads everything as the daemon does, not in one-shot mode.
func importAll(b *testing.B, cfg Config, files int) {
	b.Helper()
	var ckpt int
	for b.Loop() {
		t, err := New(cfg, nil, Options{})
		if err != nil {
			b.Fatal(err)
		}
		lines := 0
		for caughtUp := false; !caughtUp; {
			batch, err := t.Next(context.Background())
			if err != nil && !errors.Is(err, io.EOF) {
				b.Fatal(err)
			}
			lines += len(batch.Lines)
			ckpt = max(ckpt, len(batch.Checkpoint))
			caughtUp = batch.CaughtUp
		}
		if lines != files*linesPerFile {
			b.Fatalf("%d lines, want %d", lines, files*linesPerFile)
		}
		if err := t.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*files*linesPerFile), "ns/line")
	b.ReportMetric(float64(ckpt), "max-ckpt-B")
}
