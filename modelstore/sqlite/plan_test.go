package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/modelstore"
)

// TestLedgerIsSortedByNumbers proves that for any query of the ledger SQLite sorts only the numbers of the rows, in the
// subquery, because it keeps everything that it sorts in memory.
func TestLedgerIsSortedByNumbers(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "waitcast.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	since := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for _, q := range []modelstore.RowQuery{
		{}, {Cluster: "main"}, {Since: since},
		{Cluster: "main", Queue: "work", Since: since, Until: since.Add(time.Hour)},
		{Cluster: "main", Newest: true, Limit: 9},
	} {
		text, args := selectRows(q)
		rows, err := s.read.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if parent == 0 && strings.Contains(detail, "ORDER BY") {
				t.Errorf("%+v sorts whole rows: %s", q, detail)
			}
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
	}
}
