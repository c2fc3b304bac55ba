package sqlite

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// fill returns a store with n entries.
func fill(b *testing.B, path string, n int64) *Store {
	b.Helper()
	s := mustOpen(b, path, Options{CheckBytes: -1})
	for from := int64(1); from <= n; from += 10_000 {
		must(b,
			s.Commit(context.Background(), modelstore.Batch{Entries: storetest.MakeEntries(from, min(n, from+9999))}))
	}
	return s
}

func perSecond(b *testing.B, n int64, unit string) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), unit+"/s")
}

// BenchmarkCommit measures batches of 1, 100 and 10,000 entries, each with a checkpoint.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int64{1, 100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := closing(b, fill(b, tempPath(b), 0))
			last := int64(0)
			for b.Loop() {
				b.StopTimer()
				entries := storetest.MakeEntries(last+1, last+size)
				b.StartTimer()
				must(b, s.Commit(context.Background(), modelstore.Batch{Entries: entries,
					Checkpoints: []modelstore.Checkpoint{{Source: "log", Data: make([]byte, 100)}}}))
				last += size
			}
			perSecond(b, last, "entries")
		})
	}
}

// BenchmarkCommitRows measures batches of 1,000 rows of the ledger.
func BenchmarkCommitRows(b *testing.B) {
	s := closing(b, fill(b, tempPath(b), 0))
	last := int64(0)
	for b.Loop() {
		rows := make([]modelstore.Row, 1000)
		for i := range rows {
			last++
			rows[i] = storetest.MakeRow(last)
		}
		must(b, s.Commit(context.Background(), modelstore.Batch{Rows: rows}))
	}
	perSecond(b, last, "rows")
}

// BenchmarkKnown looks up a job with three events, and an unknown job, in a journal of 300,000 entries.
func BenchmarkKnown(b *testing.B) {
	const n = 300_000
	s := closing(b, fill(b, tempPath(b), n))
	for name, first := range map[string]int{"hit": 1000, "miss": 1000 + n/3} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				keys, err := s.Known(context.Background(), "c", fmt.Sprint(first+i*7919%(n/3)))
				must(b, err)
				if (len(keys) == 3) != (name == "hit") {
					b.Fatalf("%d keys", len(keys))
				}
			}
		})
	}
}

// BenchmarkReplay measures a replay of 300,000 entries.
func BenchmarkReplay(b *testing.B) {
	s := closing(b, fill(b, tempPath(b), 300_000))
	n := int64(0)
	for b.Loop() {
		must(b, s.Replay(context.Background(), 0, func(modelstore.Entry) error { n++; return nil }))
	}
	perSecond(b, n, "entries")
}

// BenchmarkCheck measures the full check of a file. DefaultCheckBytes was chosen by its result.
func BenchmarkCheck(b *testing.B) {
	path := tempPath(b)
	s := closing(b, fill(b, path, 300_000))
	_, err := s.write.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	must(b, err)
	info, err := os.Stat(path)
	must(b, err)
	b.SetBytes(info.Size())
	for b.Loop() {
		must(b, checkAll(context.Background(), s.write))
	}
	b.ReportMetric(float64(info.Size())/300_000, "bytes/entry")
}
