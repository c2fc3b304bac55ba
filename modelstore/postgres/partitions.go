package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waitcast/waitcast/modelstore"
)

// The ledger is a partitioned table. Each space has a partition (ledger_7). This partition has partitions for the
// months in which rows were closed (ledger_7_2024_03), and one for all other rows (ledger_7_rest). They are created
// when the first rows are stored. ledger_7_rest has the rows that were written by a role without the right to create
// tables, and the rows of the months beyond maxMonths. If ledger_7_rest has rows of a month, that month gets no
// partition. The rows of spaces without a partition are in ledger_rest.

const (
	// splitLedger is the first version of the schema in which the ledger is partitioned.
	splitLedger = 5
	// maxMonths is the maximum number of months of a space that get their own tables. A query without instants opens
	// all tables of its space, and the server has locks for only some thousand tables.
	maxMonths = 120
)

// month is a month in UTC: the year times 12, plus the month of the year, counted from 0.
type month int

// monthOf returns the month of an instant in nanoseconds since 1970.
func monthOf(nanos int64) month {
	t := time.Unix(0, nanos).UTC()
	return month(12*t.Year() + int(t.Month()) - 1)
}

// begin returns the first instant of the month in nanoseconds since 1970, or the first instant that can be stored.
func (m month) begin() int64 {
	return clampTime(time.Date(int(m)/12, time.Month(int(m)%12+1), 1, 0, 0, 0, 0, time.UTC))
}

// spaceTable returns the name of the table of a space, without its schema.
func spaceTable(space int32) string { return fmt.Sprintf("ledger_%d", space) }

// restTable returns the name of the table for the space's rows that are in no table of a month.
func restTable(space int32) string { return spaceTable(space) + "_rest" }

// table returns the name of the table of a space's month.
func (m month) table(space int32) string {
	return fmt.Sprintf("%s_%04d_%02d", spaceTable(space), int(m)/12, int(m)%12+1)
}

// parseMonth returns the month of a table of the space.
func parseMonth(space int32, table string) (month, bool) {
	name, ok := strings.CutPrefix(table, spaceTable(space)+"_")
	if !ok {
		return 0, false
	}
	t, err := time.Parse("2006_01", name)
	return month(12*t.Year() + int(t.Month()) - 1), err == nil
}

// makePartitions creates the missing tables for rows that were closed at the given instants, as far as the role and
// maxMonths allow. The caller holds a lock on the row of the space, or on the whole ledger.
func makePartitions(ctx context.Context, tx pgx.Tx, space int32, closed []int64) error {
	wanted := make(map[month]bool)
	for _, at := range closed {
		wanted[monthOf(at)] = true
	}
	missing, err := missingTables(ctx, tx, space, wanted)
	if err != nil || len(missing) == 0 {
		return err
	}
	may, err := mayMakeTables(ctx, tx)
	if err != nil || !may {
		return err
	}
	there, err := makeSpaceTable(ctx, tx, space)
	if err != nil || !there {
		return err
	}
	have, err := months(ctx, tx, space)
	if err != nil {
		return err
	}
	for _, m := range slices.Sorted(maps.Keys(missing)) {
		if len(have) >= maxMonths {
			return nil
		}
		made, err := makeMonth(ctx, tx, space, m)
		if err != nil {
			return err
		}
		if made {
			have = append(have, m)
		}
	}
	return nil
}

// missingTables returns the wanted months that have no table.
func missingTables(ctx context.Context, tx pgx.Tx, space int32, wanted map[month]bool) (map[month]bool, error) {
	names := make([]string, 0, len(wanted))
	for m := range wanted {
		names = append(names, m.table(space))
	}
	rows, err := tx.Query(ctx, `SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
		ON n.oid = c.relnamespace WHERE n.nspname = 'waitcast' AND c.relname = ANY($1)`, names)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	missing := maps.Clone(wanted)
	for _, name := range found {
		if m, ok := parseMonth(space, name); ok {
			delete(missing, m)
		}
	}
	return missing, nil
}

// mayMakeTables reports whether the role may create partitions: it must own the ledger and have CREATE on the schema.
func mayMakeTables(ctx context.Context, tx pgx.Tx) (may bool, err error) {
	err = tx.QueryRow(ctx, `SELECT pg_has_role(relowner, 'USAGE') AND has_schema_privilege(relnamespace, 'CREATE')
		FROM pg_catalog.pg_class WHERE oid = 'waitcast.ledger'::regclass`).Scan(&may)
	return may, err
}

// makeSpaceTable creates the table of a space, unless rows of the space are in ledger_rest. It reports whether the
// table exists afterwards.
func makeSpaceTable(ctx context.Context, tx pgx.Tx, space int32) (there bool, err error) {
	err = tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", "waitcast."+spaceTable(space)).Scan(&there)
	if err != nil || there {
		return there, err
	}
	// Creating a partition locks the ledger, and then ledger_rest. Queries lock both in the same order. With another
	// order, or with a weaker lock first, a collector could deadlock with a query or with another collector.
	_, err = tx.Exec(ctx, "LOCK TABLE ONLY waitcast.ledger, ONLY waitcast.ledger_rest IN ACCESS EXCLUSIVE MODE")
	if err != nil {
		return false, err
	}
	var used bool
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM waitcast.ledger_rest WHERE space = $1)", space).Scan(&used)
	if err != nil || used {
		return false, err
	}
	for _, statement := range []string{
		fmt.Sprintf("CREATE TABLE waitcast.%s PARTITION OF waitcast.ledger FOR VALUES IN (%d) "+
			"PARTITION BY RANGE (closed)", spaceTable(space), space),
		fmt.Sprintf("CREATE TABLE waitcast.%s PARTITION OF waitcast.%s DEFAULT", restTable(space), spaceTable(space)),
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return false, err
		}
	}
	return true, nil
}

// makeMonth creates the table of a month, unless ledger_N_rest of the space has rows of the month. The month with the
// last instant that can be stored gets no table. made is true if the table was created.
func makeMonth(ctx context.Context, tx pgx.Tx, space int32, m month) (made bool, err error) {
	begin, end := m.begin(), (m + 1).begin()
	if end == modelstore.MaxTime().UnixNano() { // no half-open range contains the last instant
		return false, nil
	}
	var used bool
	err = tx.QueryRow(ctx, fmt.Sprintf("SELECT EXISTS (SELECT FROM waitcast.%s WHERE space = $1 AND closed >= $2 "+
		"AND closed < $3)", restTable(space)), space, begin, end).Scan(&used)
	if err != nil || used {
		return false, err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf("CREATE TABLE waitcast.%s PARTITION OF waitcast.%s FOR VALUES FROM (%d) TO (%d)",
		m.table(space), spaceTable(space), begin, end))
	return err == nil, err
}

// months returns, in order, the months for which the space has a table that the role may drop.
func months(ctx context.Context, tx pgx.Tx, space int32) ([]month, error) {
	rows, err := tx.Query(ctx, `SELECT c.relname FROM pg_catalog.pg_inherits i
		JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = to_regclass($1) AND pg_has_role(c.relowner, 'USAGE') ORDER BY c.relname`,
		"waitcast."+spaceTable(space))
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var all []month
	for _, name := range names {
		if m, ok := parseMonth(space, name); ok {
			all = append(all, m)
		}
	}
	return all, nil
}

// dropMonth drops the table of the oldest month that ended before an instant. It returns the number of the table's
// rows. ok is false if there is no such month.
func (w *change) dropMonth(before int64) (n int64, ok bool, err error) {
	all, err := months(w.ctx, w.tx, w.s.space)
	if err != nil || len(all) == 0 || (all[0]+1).begin() > before {
		return 0, false, err
	}
	table := all[0].table(w.s.space)
	if err := w.tx.QueryRow(w.ctx, "SELECT count(*) FROM waitcast."+table).Scan(&n); err != nil {
		return 0, false, err
	}
	_, err = w.tx.Exec(w.ctx, "DROP TABLE waitcast."+table)
	return n, err == nil, err
}

// splitRows moves the rows of the ledger that was not partitioned, from a version before splitLedger, into
// partitions.
func splitRows(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, "SELECT id FROM waitcast.space ORDER BY id")
	if err != nil {
		return err
	}
	spaces, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return err
	}
	for _, space := range spaces {
		closed, err := closedByDay(ctx, tx, space)
		if err != nil {
			return err
		}
		if err := makePartitions(ctx, tx, space, closed); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		"INSERT INTO waitcast.ledger SELECT * FROM waitcast.ledger_before ORDER BY space, id",
		"DROP TABLE waitcast.ledger_before",
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// closedByDay reads the ledger that was not partitioned. It returns one instant for each day on which rows of a space
// were closed.
func closedByDay(ctx context.Context, tx pgx.Tx, space int32) ([]int64, error) {
	rows, err := tx.Query(ctx, "SELECT min(closed) FROM waitcast.ledger_before WHERE space = $1 GROUP BY closed / $2",
		space, int64(24*time.Hour))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}
