package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/waitcast/waitcast/modelstore"
)

// historySchema is the first version of the schema that has the table of histories.
const historySchema = 3

// dropWindow is the number of chunks that one transaction of DropHistories deletes. Commits can run between two of
// these transactions.
const dropWindow = 64

// PutHistory implements modelstore.HistoryStore.
func (s *Store) PutHistory(ctx context.Context, c modelstore.HistoryChunk) error {
	return s.change(ctx, "store "+c.String(), func(w *change) error {
		if err := c.Check(); err != nil {
			return err
		}
		w.later.Queue(`INSERT INTO waitcast.history (space, cluster, id, part, n, data, crc)
			VALUES ($1,$2,$3,$4,$5,$6,$7)
			ON CONFLICT (space, cluster, id, part, n) DO UPDATE SET data = excluded.data, crc = excluded.crc`,
			s.space, toText(c.Cluster), toText(c.ID), toText(c.Part), c.N, c.Data, int64(c.Sum()))
		return nil
	})
}

// HistoryChunks implements modelstore.HistoryStore. Between two chunks it uses no connection.
func (s *Store) HistoryChunks(ctx context.Context, cluster, id, part string,
	fn func(n int, data []byte) error) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.end()
	next := modelstore.HistoryChunk{Cluster: cluster, ID: id, Part: part}
	for {
		doing := "read " + next.String() + " or a later one"
		found, err := s.chunk(ctx, doing, "n >= $5 ORDER BY n LIMIT 1", next)
		if err != nil || found == nil {
			return err
		}
		if err := s.interrupted(ctx); err != nil {
			return s.fail(doing, err)
		}
		if err := fn(found.N, found.Data); err != nil {
			return err
		}
		next.N = found.N + 1
	}
}

// HistoryChunk implements modelstore.HistoryStore.
func (s *Store) HistoryChunk(ctx context.Context, cluster, id, part string, n int) ([]byte, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.end()
	key := modelstore.HistoryChunk{Cluster: cluster, ID: id, Part: part, N: n}
	found, err := s.chunk(ctx, "read "+key.String(), "n = $5", key)
	if err != nil || found == nil {
		return nil, err
	}
	return found.Data, nil
}

// chunk returns the chunk of a part that a condition on its number selects. It returns nil if there is none.
func (s *Store) chunk(ctx context.Context, doing, condition string,
	key modelstore.HistoryChunk) (found *modelstore.HistoryChunk, err error) {
	err = s.readPage(ctx, doing, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, "SELECT n, data, crc FROM waitcast.history WHERE space = $1 AND cluster = $2 "+
			"AND id = $3 AND part = $4 AND "+condition,
			s.space, toText(key.Cluster), toText(key.ID), toText(key.Part), key.N)
		if err != nil {
			return err
		}
		c, crc := key, int64(0)
		_, err = pgx.ForEachRow(rows, []any{&c.N, &c.Data, &crc}, func() error {
			if int64(c.Sum()) != crc {
				return damaged("%s fails its checksum", &c)
			}
			found = &c
			return nil
		})
		return err
	})
	return found, err
}

// DropHistories implements modelstore.HistoryStore.
func (s *Store) DropHistories(ctx context.Context, cluster string, keep ...string) error {
	kept := make([]string, 0, len(keep)) // an empty array, because nil would become NULL
	for _, id := range keep {
		kept = append(kept, toText(id))
	}
	for {
		var n int64
		err := s.change(ctx, "drop histories of "+cluster, func(w *change) error {
			tag, err := w.tx.Exec(w.ctx, `DELETE FROM waitcast.history h
				USING (SELECT id, part, n FROM waitcast.history
					WHERE space = $1 AND cluster = $2 AND id <> ALL($3::text[]) LIMIT $4) old
				WHERE h.space = $1 AND h.cluster = $2 AND (h.id, h.part, h.n) = (old.id, old.part, old.n)`,
				s.space, toText(cluster), kept, dropWindow)
			n = tag.RowsAffected()
			return err
		})
		if err != nil || n < dropWindow {
			return err
		}
	}
}

// Histories implements modelstore.HistoryStore.
func (s *Store) Histories(ctx context.Context) (parts []modelstore.HistoryPart, err error) {
	err = s.read(ctx, "list the histories", func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT cluster, id, part, count(*), sum(octet_length(data))::bigint
			FROM waitcast.history WHERE space = $1 GROUP BY cluster, id, part ORDER BY cluster, id, part`, s.space)
		if err != nil {
			return err
		}
		var p modelstore.HistoryPart
		_, err = pgx.ForEachRow(rows, []any{&p.Cluster, &p.ID, &p.Part, &p.Chunks, &p.Bytes}, func() error {
			p.Cluster, p.ID, p.Part = fromText(p.Cluster), fromText(p.ID), fromText(p.Part)
			parts = append(parts, p)
			return nil
		})
		return err
	})
	return parts, err
}
