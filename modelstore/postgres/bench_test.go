package postgres

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// both runs a benchmark on both stores, one after the other. PostgreSQL syncs its writes to the disk, as SQLite does at
// the checkpoints of its WAL.
func both(b *testing.B, run func(b *testing.B, s modelstore.Store)) {
	server := pgtest.New(b, pgtest.Options{Fsync: true})
	b.Run("postgres", func(b *testing.B) { run(b, writer(b, server.NewDatabase(b), Options{})) })
	b.Run("sqlite", func(b *testing.B) {
		s, err := sqlite.Open(context.Background(), filepath.Join(b.TempDir(), "bench.db"), sqlite.Options{})
		must(b, err)
		defer func() { must(b, s.Close()) }()
		run(b, s)
	})
}

func perSecond(b *testing.B, n int64, unit string) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), unit+"/s")
}

// BenchmarkCommit measures batches of 1, 100 and 10,000 entries, each with a checkpoint.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int64{1, 100, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			both(b, func(b *testing.B, s modelstore.Store) {
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
		})
	}
}

// BenchmarkRows measures batches of 1,000 rows of the ledger, and reading them.
func BenchmarkRows(b *testing.B) {
	both(b, func(b *testing.B, s modelstore.Store) {
		last := int64(0)
		b.Run("commit", func(b *testing.B) {
			from := last
			for b.Loop() {
				rows := make([]modelstore.Row, 1000)
				for i := range rows {
					last++
					rows[i] = storetest.MakeRow(last)
				}
				must(b, s.Commit(context.Background(), modelstore.Batch{Rows: rows}))
			}
			perSecond(b, last-from, "rows")
		})
		b.Run("read", func(b *testing.B) {
			n := int64(0)
			for b.Loop() {
				must(b,
					s.Rows(context.Background(), modelstore.RowQuery{}, func(modelstore.Row) error { n++; return nil }))
			}
			perSecond(b, n, "rows")
		})
	})
}

// BenchmarkJournal measures a replay of 100,000 entries, and lookups of jobs among them.
func BenchmarkJournal(b *testing.B) {
	const n = 99_999
	both(b, func(b *testing.B, s modelstore.Store) {
		for from := int64(1); from <= n; from += 10_000 {
			must(b,
				s.Commit(context.Background(),
					modelstore.Batch{Entries: storetest.MakeEntries(from, min(n, from+9999))}))
		}
		b.Run("replay", func(b *testing.B) {
			read := int64(0)
			for b.Loop() {
				must(b, s.Replay(context.Background(), 0, func(modelstore.Entry) error { read++; return nil }))
			}
			perSecond(b, read, "entries")
		})
		b.Run("known", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				keys, err := s.Known(context.Background(), "c", fmt.Sprint(1000+i*7919%(n/3)))
				must(b, err)
				if len(keys) != 3 {
					b.Fatalf("%d keys", len(keys))
				}
			}
		})
	})
}
