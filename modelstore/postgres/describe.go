package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waitcast/waitcast/modelstore"
)

// Describe describes the database at url and its spaces. Daemons may use the database meanwhile. Describe counts the
// contents, which takes long for a large store. If the database has no tables of waitcast, Schema is 0 and there are no
// spaces.
func Describe(ctx context.Context, url string) (*modelstore.Info, error) {
	opts := Options{ReadOnly: true}.withDefaults()
	pool, err := connect(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	place := placeOf(pool.Config().ConnConfig)
	texts, err := migrationTexts()
	if err != nil {
		return nil, err
	}
	info := &modelstore.Info{Kind: "postgres", Place: place, Known: len(texts)}
	if info.Schema, err = schemaVersion(ctx, pool.QueryRow); err != nil || info.Schema == 0 {
		return info, explain(place, "info", err)
	}
	err = pool.QueryRow(ctx, `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'waitcast' AND c.relkind = 'r'`).
		Scan(&info.Bytes)
	if err != nil {
		return nil, explain(place, "info", err)
	}
	histories := "0::bigint, 0::bigint"
	if info.Schema >= historySchema {
		histories = `(SELECT count(*) FROM waitcast.history WHERE space = s.id),
			(SELECT coalesce(sum(octet_length(data)), 0)::bigint FROM waitcast.history WHERE space = s.id)`
	}
	rows, err := pool.Query(ctx,
		`SELECT s.name, s.last_seq, (SELECT count(*) FROM waitcast.journal WHERE space = s.id),
			(SELECT count(*) FROM waitcast.ledger WHERE space = s.id),
			(SELECT count(*) FROM waitcast.bad_line WHERE space = s.id),
			(SELECT count(*) FROM waitcast.checkpoint WHERE space = s.id),
			(SELECT count(*) FROM waitcast.snapshot WHERE space = s.id), `+histories+`,
			CASE WHEN s.expires > clock_timestamp() THEN s.holder END, s.epoch, s.expires
		FROM waitcast.space s ORDER BY s.name`)
	if err != nil {
		return nil, explain(place, "info", err)
	}
	var s modelstore.SpaceInfo
	var holder *string
	var until *time.Time
	_, err = pgx.ForEachRow(rows, []any{&s.Name, &s.LastSeq, &s.Entries, &s.Rows, &s.BadLines, &s.Checkpoints,
		&s.Snapshots, &s.HistoryChunks, &s.HistoryBytes, &holder, &s.Epoch, &until}, func() error {
		s.Holder, s.Until = "", time.Time{}
		if holder != nil {
			s.Holder = fromText(*holder)
		}
		if until != nil {
			s.Until = until.UTC()
		}
		info.Spaces = append(info.Spaces, s)
		return nil
	})
	return info, explain(place, "info", err)
}
