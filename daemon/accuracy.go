package daemon

import (
	"context"
	"errors"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// accuracy reads from the ledger how forecasts turned out.
func (w *webAPI) accuracy(ctx context.Context, q api.AccuracyQuery) (*accuracy.Summary, error) {
	out, view := accuracy.NewSummary(q.Bounds), w.views.View(q.Cluster)
	// A wait that ended after Until is needed too: as of Until its job was waiting.
	rows := modelstore.RowQuery{Cluster: q.Cluster, Queue: q.Queue, Since: q.Since}
	for _, store := range w.stores {
		err := store.Rows(ctx, rows, func(r modelstore.Row) error {
			r.Queue = view.LedgerQueue(r.Queue)
			out.Add(&r)
			return nil
		})
		if errors.Is(err, modelstore.ErrClosed) {
			err = errReloading
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
