package postgres

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/waitcast/waitcast/internal/pgtest"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// inFull reports whether the long tests run.
func inFull() bool { return os.Getenv("WAITCAST_LONG") != "" }

// ledgerSize returns the numbers of rows and of spaces in TestLargeLedger.
func ledgerSize() (rows, spaces int) {
	if inFull() {
		return 1_000_000, 10
	}
	return 2_800, 4
}

// TestLargeLedger writes the ledgers of several collectors at once into one database. With WAITCAST_LONG there are ten
// collectors and a million rows. The test reads a span of one ledger, drops rows beyond a retention, and upgrades a
// ledger of that size from the previous schema. It proves that no row is missing after any of these steps. The times
// that it logs are in docs/scale.md.
func TestLargeLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector; left out by -short")
	}
	server := pgtest.New(t, pgtest.Options{Fsync: inFull()})
	url := server.NewDatabase(t)
	const months = 14
	size, spaces := ledgerSize()
	each := size / spaces
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	step := from.AddDate(0, months, 0).Sub(from) / time.Duration(each)
	took := func(what string, begun time.Time) { t.Logf("%s: %s", what, time.Since(begun).Round(time.Millisecond)) }

	var stores []*Store
	for i := range spaces {
		stores = append(stores, writer(t, url, Options{Space: fmt.Sprintf("c%d", i)}))
	}
	begun := time.Now()
	var group errgroup.Group
	for _, s := range stores {
		group.Go(func() error {
			for done := 0; done < each; {
				var b modelstore.Batch
				for ; done < each && len(b.Rows) < 1000; done++ {
					b.Rows = append(b.Rows, closedAt(int64(done+1), from.Add(time.Duration(done)*step)))
				}
				if err := s.Commit(t.Context(), b); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, group.Wait())
	took(fmt.Sprintf("%d rows by %d writers at once", size, spaces), begun)

	s := stores[3]
	week := modelstore.RowQuery{Since: from.AddDate(0, 7, 3), Until: from.AddDate(0, 7, 10)}
	begun = time.Now()
	rows := storetest.Rows(t, s, week)
	took(fmt.Sprintf("a week of a space (%d rows)", len(rows)), begun)
	if want := int(7 * 24 * time.Hour / step); len(rows) < want || len(rows) > want+1 {
		t.Errorf("%d rows of a week, want %d", len(rows), want)
	}
	text, args := s.selectRows(week, nil, 1<<40, page)
	if got := planned(t, s, text, args...); len(got) != 1 || got[0] != spaceTable(s.space)+"_2025_08" {
		t.Errorf("a week of August reads %v", got)
	}
	begun = time.Now()
	all := storetest.Rows(t, s, modelstore.RowQuery{})
	took(fmt.Sprintf("all of a space (%d rows)", len(all)), begun)
	begun = time.Now()
	dropped, err := s.PruneRows(t.Context(), from.AddDate(0, 6, 0))
	must(t, err)
	took(fmt.Sprintf("retention drops six months of a space (%d rows)", dropped), begun)
	for i, other := range stores {
		n, err := other.CountRows(t.Context(), modelstore.RowQuery{})
		must(t, err)
		if want := int64(each); i != 3 && n != want || i == 3 && n != want-dropped {
			t.Errorf("space %d has %d rows", i, n)
		}
	}
	splitLarge(t, server, size, took)
}

// splitLarge upgrades a ledger of size rows from the schema before splitLedger, and passes the duration to took.
func splitLarge(t *testing.T, server *pgtest.Server, size int, took func(string, time.Time)) {
	url := server.NewDatabase(t)
	olderSchema(t, url, splitLedger-1, "INSERT INTO waitcast.space (name) VALUES ('main')",
		fmt.Sprintf(`INSERT INTO waitcast.ledger (space, seq, cluster, job_id, attempt, queue, procs, time_limit,
			submit, start, closed, outcome, wait_seconds, method, levels, quantiles, reason, replayed, served)
		SELECT 1, n, 'c', n || '.kth', 0, 'batch', n, 0, at - 60000000000, at, at, 'started', 60, 'combined',
			decode(repeat('000000000000e03f', 11), 'hex'), decode(repeat('0000000000001e40', 11), 'hex'), '', false, n
		FROM (SELECT n, 1735689600000000000 + n * (36288000000000000 / %d) AS at
			FROM generate_series(1, %[1]d) n) rows`, size))
	begun := time.Now()
	s := writer(t, url, Options{Space: "main"})
	took(fmt.Sprintf("%d rows split at the upgrade", size), begun)
	n, err := s.CountRows(t.Context(), modelstore.RowQuery{})
	must(t, err)
	if tables := ledgerTables(t, s); n != int64(size) || len(tables) != 14+2 || tables["ledger_rest"] != 0 {
		t.Errorf("%d rows in %d tables", n, len(tables))
	}
}
