package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the database driver
)

// SQL reads the tables of the database, so that no type of the module is needed. Sequence numbers are counted
// separately in each cluster, because sources are read concurrently. The queries leave out the columns crc and id, the
// path of a bad line and the time at which it was read. Except for the daemon on the test's clock, they also leave out
// two values that depend on how fast the log is read: whether a record was read as it happened ("x" of an event,
// replayed), and the number of the served surface.
const (
	ledgerQuery = `SELECT l.cluster, l.job_id, l.attempt, l.queue, l.procs, l.time_limit, l.submit, l.start,
		l.closed, l.outcome, l.wait_seconds, l.method,
		v.levels, l.quantiles, l.peers, l.reason, l.replayed, l.served
		FROM ledger l LEFT JOIN levels v ON v.id = l.levels_id ORDER BY l.seq, l.cluster, l.job_id, l.attempt`
	journalQuery = `SELECT cluster, job_id, attempt, kind, time, submit, source, event FROM journal ORDER BY seq`
	badQuery     = `SELECT substr(source, 1, instr(source, '/') - 1), source, line, reason, text
		FROM bad_line ORDER BY source, path, line, id`
)

// tables reads the database of a stopped daemon, and records its rows by cluster.
func (c *chapter) tables(ctx context.Context, name, path string, live bool) error {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it was only read
	for _, table := range []struct{ name, query string }{
		{"ledger", ledgerQuery}, {"journal", journalQuery}, {"bad lines", badQuery},
	} {
		byCluster, err := rows(ctx, db, table.query, live)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, table.name, err)
		}
		for cluster, lines := range byCluster {
			text := fmt.Sprintf("%d rows\n%s", len(lines), strings.Join(lines, ""))
			c.add(fmt.Sprintf("%s/%s %s", name, table.name, cluster), text)
		}
	}
	return nil
}

// rows returns the rows of a query as text, by the cluster in the first column.
func rows(ctx context.Context, db *sql.DB, query string, live bool) (map[string][]string, error) {
	found, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer found.Close() //nolint:errcheck // Err tells
	columns, err := found.Columns()
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for found.Next() {
		values, at := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			at[i] = &values[i]
		}
		if err := found.Scan(at...); err != nil {
			return nil, err
		}
		var text strings.Builder
		for i, v := range values {
			if live || columns[i] != "replayed" && columns[i] != "served" {
				fmt.Fprintf(&text, "%s=%s ", columns[i], value(columns[i], v, live))
			}
		}
		cluster := fmt.Sprint(values[0])
		out[cluster] = append(out[cluster], strings.TrimSuffix(text.String(), " ")+"\n")
	}
	return out, found.Err()
}

func value(column string, v any, live bool) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case []byte:
		return hex.EncodeToString(v)
	case float64:
		return fmt.Sprintf("%v:%016x", v, math.Float64bits(v))
	case string:
		switch {
		case column == "event" && !live:
			return strings.Replace(v, `,"x":true`, "", 1)
		case column == "reason" && strings.Contains(v, " "):
			return masked
		}
		return v
	}
	return fmt.Sprint(v)
}

// series reads metrics and returns the value of each series.
func series(ctx context.Context, base string) (map[string]string, error) {
	_, _, body, err := ask(ctx, base, request{method: "GET", path: "/metrics"})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(body) {
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			out[line[:i]] = strings.TrimSpace(line[i+1:])
		}
	}
	return out, nil
}

// metrics records the names of the module's own metrics, their types and their labels' names.
func (c *chapter) metrics(ctx context.Context, name, base string) error {
	_, _, body, err := ask(ctx, base, request{method: "GET", path: "/metrics"})
	if err != nil {
		return err
	}
	found := map[string]bool{}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "# TYPE "); ok && strings.HasPrefix(text, "waitcast_") {
			found["type "+text] = true
		}
		if !strings.HasPrefix(line, "waitcast_") {
			continue
		}
		metric, labels, _ := strings.Cut(line[:strings.LastIndexByte(line, ' ')], "{")
		var names []string
		for _, pair := range strings.Split(labels, ",") {
			if key, _, ok := strings.Cut(pair, `="`); ok {
				names = append(names, key)
			}
		}
		found[metric+" "+strings.Join(names, ",")] = true
	}
	lines := make([]string, 0, len(found))
	for line := range found {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	c.add(name, strings.Join(lines, "\n"))
	return nil
}
