package daemon

import (
	"context"
	"errors"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/modelstore"
)

// recent reads from the ledger the newest forecasts whose jobs have started.
func (w *webAPI) recent(ctx context.Context, q api.RecentQuery) ([]api.RecentRow, error) {
	var out []api.RecentRow
	rows := modelstore.RowQuery{
		Cluster: q.Cluster, Queue: q.Queue, Outcome: modelstore.Started, Since: q.Since, Limit: q.Limit, Newest: true,
	}
	for _, store := range w.stores {
		err := store.Rows(ctx, rows, func(r modelstore.Row) error {
			row := api.RecentRow{
				Queue: r.Queue, Procs: r.Procs, Submit: r.Submit, Start: r.Start, WaitSeconds: r.WaitSeconds,
				Levels: r.Levels, Quantiles: r.Quantiles, Replayed: r.Replayed,
			}
			if p := r.Parts; p != nil {
				row.Parts = &api.RecentParts{BlockedSeconds: p.BlockedSeconds, Blocked: p.Blocked,
					Predicted: p.Predicted, Settled: p.Settled}
			}
			out = append(out, row)
			return nil
		})
		if errors.Is(err, modelstore.ErrClosed) {
			return nil, errReloading
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
