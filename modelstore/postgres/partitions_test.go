package postgres

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// closedAt returns the row of event seq, closed at an instant.
func closedAt(seq int64, at time.Time) modelstore.Row {
	r := storetest.MakeRow(seq)
	r.Submit, r.Start, r.Outcome, r.WaitSeconds, r.Parts = at.Add(-time.Second), at, modelstore.Started, 1, nil
	return r
}

// monthly returns, for each of a number of months, n rows that are closed an hour apart. They begin at from in the
// first month, a month after from in the second, and so on.
func monthly(from time.Time, months, n int) (rows []modelstore.Row) {
	for m := range months {
		for i := range n {
			at := from.AddDate(0, m, 0).Add(time.Duration(i) * time.Hour)
			rows = append(rows, closedAt(int64(len(rows)+1), at))
		}
	}
	return rows
}

// ledgerTables returns the number of rows in each table of the ledger.
func ledgerTables(t testing.TB, s *Store) map[string]int64 {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
		ON n.oid = c.relnamespace WHERE n.nspname = 'waitcast' AND c.relkind = 'r' AND c.relname LIKE 'ledger%'`)
	must(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	all := map[string]int64{}
	for _, name := range names {
		var n int64
		must(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM waitcast."+name).Scan(&n))
		all[name] = n
	}
	return all
}

// planned returns the names of the ledger's tables that a statement reads when it runs, sorted.
func planned(t testing.TB, s *Store, text string, args ...any) []string {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), "EXPLAIN (ANALYZE, COSTS OFF) "+text, args...)
	must(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	tables := regexp.MustCompile(` on (ledger_[0-9a-z_]+) `)
	found := map[string]bool{}
	for _, line := range lines {
		if m := tables.FindStringSubmatch(line); m != nil && !strings.Contains(line, "Bitmap Index Scan") &&
			!strings.Contains(line, "(never executed)") {
			found[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// TestLedgerByMonth proves that each month of a space has its own table, and that a query reads only the tables of its
// space and its span, whether the server makes a new plan or reuses one. Retention drops the tables of past months.
func TestLedgerByMonth(t *testing.T) {
	database := shared.NewDatabase(t)
	other, s := writer(t, database, Options{Space: "other"}), writer(t, database, Options{})
	from := time.Date(2023, 11, 5, 0, 0, 0, 0, time.UTC)
	rows := monthly(from, 5, 20)
	for _, store := range []*Store{other, s} {
		must(t, store.Commit(t.Context(), modelstore.Batch{Rows: rows}))
	}
	name := func(m string) string { return spaceTable(s.space) + "_" + m }
	want := map[string]int64{"ledger_rest": 0}
	for _, store := range []*Store{other, s} {
		want[restTable(store.space)] = 0
		for _, m := range []string{"2023_11", "2023_12", "2024_01", "2024_02", "2024_03"} {
			want[spaceTable(store.space)+"_"+m] = 20
		}
	}
	if diff := cmp.Diff(want, ledgerTables(t, s)); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		s := mustOpen(t, database+"&plan_cache_mode="+mode, Options{})
		query := modelstore.RowQuery{Since: from.AddDate(0, 2, 0), Until: from.AddDate(0, 3, -10), Newest: true}
		text, args := s.selectRows(query, nil, 1<<40, 50)
		if got := planned(t, s, text, args...); !slices.Equal(got, []string{name("2024_01")}) {
			t.Errorf("%s: a query of a month reads %v", mode, got)
		}
		text, args = s.selectRows(modelstore.RowQuery{}, nil, 1<<40, 1000)
		if got := planned(t, s, text, args...); len(got) != 6 || !strings.HasPrefix(got[0], spaceTable(s.space)) {
			t.Errorf("%s: a query of all reads %v", mode, got)
		}
	}
	n, err := s.PruneRows(t.Context(), from.AddDate(0, 2, 0).Add(10*time.Hour)) // this is within the third month
	must(t, err)
	if n != 50 {
		t.Errorf("%d rows were pruned, want 50", n)
	}
	delete(want, name("2023_11"))
	delete(want, name("2023_12"))
	want[name("2024_01")] = 10
	if diff := cmp.Diff(want, ledgerTables(t, s)); diff != "" {
		t.Errorf("tables after retention (-want +got):\n%s", diff)
	}
	if got := len(storetest.Rows(t, other, modelstore.RowQuery{})); got != 100 {
		t.Errorf("%d rows of the other space are left", got)
	}
}

// TestPartitionsWaitForQueries proves that the first commit of a space causes no deadlock with a query that has locked
// the ledger but not yet the tables below it. The commit waits for the query before it creates the tables of the space.
func TestPartitionsWaitForQueries(t *testing.T) {
	s := writer(t, shared.NewDatabase(t), Options{})
	query, err := s.pool.Begin(t.Context())
	must(t, err)
	defer func() { _ = query.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = query.Exec(t.Context(), "LOCK TABLE ONLY waitcast.ledger IN ACCESS SHARE MODE")
	must(t, err)
	var g errgroup.Group
	g.Go(func() error {
		return s.Commit(t.Context(), modelstore.Batch{Rows: monthly(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), 1, 1)})
	})
	eventually(t, "the commit waits for the query", func() bool {
		var waiting bool
		must(t, s.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_catalog.pg_locks
			WHERE NOT granted AND relation = 'waitcast.ledger'::regclass)`).Scan(&waiting))
		return waiting
	})
	var n int64
	must(t, query.QueryRow(t.Context(), "SELECT count(*) FROM waitcast.ledger_rest").Scan(&n))
	must(t, query.Commit(t.Context()))
	must(t, g.Wait())
	if got := len(storetest.Rows(t, s, modelstore.RowQuery{})); n != 0 || got != 1 {
		t.Errorf("the query saw %d rows, and the ledger has %d", n, got)
	}
}

// TestMonthsAreBounded proves that the number of tables of a space is bounded, and that the rows of further months are
// still kept.
func TestMonthsAreBounded(t *testing.T) {
	s := writer(t, shared.NewDatabase(t), Options{})
	rows := monthly(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), maxMonths+3, 1)
	must(t, s.Commit(t.Context(), modelstore.Batch{Rows: rows}))
	tables := ledgerTables(t, s)
	if len(tables) != maxMonths+2 || tables[restTable(s.space)] != 3 {
		t.Errorf("%d tables, %d rows in the rest", len(tables), tables[restTable(s.space)])
	}
	if diff := cmp.Diff(rows, storetest.Rows(t, s, modelstore.RowQuery{}), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestRoleWithoutCreate proves that a role without the right to create tables can collect. Its rows are in the default
// table and can be pruned, and they do not change when the owner later collects into the same space.
func TestRoleWithoutCreate(t *testing.T) {
	server := shared.Server(t)
	url := server.NewDatabase(t)
	must(t, mustOpen(t, url, Options{}).Close()) // this makes the schema
	role := strings.ReplaceAll(place{server, url}.database(), "test", "collector")
	server.Exec(t, place{server, url}.database(), "CREATE ROLE "+role+" LOGIN",
		"GRANT USAGE ON SCHEMA waitcast TO "+role,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA waitcast TO "+role)
	as := func(user string) string { return strings.Replace(url, "user=postgres", "user="+user, 1) }
	rows := monthly(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), 6, 10)
	collects := func(user, space string, rows []modelstore.Row) {
		t.Helper()
		s := writer(t, as(user), Options{Space: space})
		must(t, s.Commit(t.Context(), modelstore.Batch{Rows: rows}))
		must(t, s.Close())
	}
	collects(role, "main", rows[:20])
	collects("postgres", "main", rows[10:40]) // these rows stay in the default table, where the space has rows already
	collects("postgres", "split", rows[:20])
	collects(role, "split", rows[10:40])
	collects("postgres", "split", rows[30:])
	for _, space := range []string{"main", "split"} {
		s := writer(t, as(role), Options{Space: space})
		want := rows[:40]
		if space == "split" {
			want = rows
		}
		if diff := cmp.Diff(want, storetest.Rows(t, s, modelstore.RowQuery{}), cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", space, diff)
		}
		n, err := s.PruneRows(t.Context(), rows[15].Closed())
		must(t, err)
		if got := storetest.Rows(t, s, modelstore.RowQuery{}); n != 15 || len(got) != len(want)-15 {
			t.Errorf("%s: %d rows were pruned, %d are left", space, n, len(got))
		}
	}
	s := mustOpen(t, url, Options{Space: "split"})
	got := ledgerTables(t, s)
	if got[restTable(s.space)] != 20 || got["ledger_rest"] != 25 || got[spaceTable(s.space)+"_2024_06"] != 10 {
		t.Errorf("tables %v", got)
	}
}

// olderSchema creates the schema of a version and runs statements in it.
func olderSchema(t testing.TB, url string, version int, statements ...string) {
	t.Helper()
	texts, err := migrationTexts()
	must(t, err)
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	must(t, pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		for v := 1; v <= version; v++ {
			if err := runMigration(t.Context(), tx, texts[v-1], v); err != nil {
				return err
			}
		}
		for _, text := range statements {
			if _, err := tx.Exec(t.Context(), text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	}))
	must(t, conn.Close(t.Context()))
}

// unsplitRows is a statement for the schema before splitLedger. It adds rows of two years to a space, not in the order
// of their months.
const unsplitRows = `INSERT INTO waitcast.ledger (space, seq, cluster, job_id, attempt, queue, procs, time_limit,
	submit, start, closed, outcome, wait_seconds, method, levels, quantiles, reason, replayed, served, blocked_seconds,
	predicted)
SELECT %d, n, 'c', n || '.kth', n %% 3, 'batch', n, 0, at - 60000000000, at, at, 'started', 60, 'combined',
	'\x000000000000e03f', '\x0000000000001e40', '', n %% 2 = 0, n, 7.5, 'limit'
FROM (SELECT n, 1700000000000000000 + (n * 7919 %% 3000) * 21600000000000 AS at FROM generate_series(1, 3000) n) rows`

// TestSplitLedger proves that daemons that open the previous schema at the same time, with rows of two spaces, finally
// have a ledger split by months that has every row once and unchanged. Roles that could read the ledger still can.
func TestSplitLedger(t *testing.T) {
	server := shared.Server(t)
	url := server.NewDatabase(t)
	role := strings.ReplaceAll(place{server, url}.database(), "test", "reader")
	olderSchema(t, url, splitLedger-1, "INSERT INTO waitcast.space (name, last_seq) VALUES ('a', 3000), ('b', 3000)",
		fmt.Sprintf(unsplitRows, 1), fmt.Sprintf(unsplitRows, 2), "CREATE ROLE "+role+" LOGIN",
		"GRANT USAGE ON SCHEMA waitcast TO "+role, "GRANT SELECT ON ALL TABLES IN SCHEMA waitcast TO "+role,
		`CREATE TABLE public.before AS SELECT * FROM waitcast.ledger`)
	var group errgroup.Group
	for range 4 {
		for _, space := range []string{"a", "b", "c"} {
			group.Go(func() error {
				s, err := Open(context.WithoutCancel(t.Context()), url, Options{Space: space})
				if err != nil {
					return err
				}
				return s.Close()
			})
		}
	}
	must(t, group.Wait())
	a := writer(t, url, Options{Space: "a"})
	var rows, differ int
	must(t, a.pool.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE l IS DISTINCT FROM b)
		FROM waitcast.ledger l FULL JOIN public.before b USING (space, id)`).Scan(&rows, &differ))
	if rows != 6000 || differ != 0 {
		t.Errorf("%d rows, %d of them others than before", rows, differ)
	}
	tables := ledgerTables(t, a)
	if len(tables) != 2*(26+1)+1 || tables["ledger_rest"] != 0 || tables["ledger_1_rest"] != 0 {
		t.Errorf("%d tables: %v", len(tables), tables)
	}
	reader, err := Open(t.Context(), strings.Replace(url, "user=postgres", "user="+role, 1),
		Options{Space: "b", ReadOnly: true})
	must(t, err)
	got := storetest.Rows(t, reader, modelstore.RowQuery{})
	must(t, reader.Close())
	if len(got) != 3000 || !slices.IsSortedFunc(got, func(a, b modelstore.Row) int { return int(a.Seq - b.Seq) }) {
		t.Errorf("the reader has %d rows", len(got))
	}
	must(t, a.Commit(t.Context(), modelstore.Batch{Rows: []modelstore.Row{got[7], closedAt(3001, time.Unix(2e9, 0))}}))
	if n := len(storetest.Rows(t, a, modelstore.RowQuery{})); n != 3001 {
		t.Errorf("%d rows after a row that was there and one that was not", n)
	}
}
