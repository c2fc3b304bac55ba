package daemon

import (
	"context"
	"errors"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// accuracy reads from the ledger how well the forecasts matched the waits.
func (w *webAPI) accuracy(ctx context.Context, q api.AccuracyQuery) (*accuracy.Summary, error) {
	out := accuracy.NewSummary(q.Bounds)
	// Jobs that ended after Until are needed too: at Until they were still waiting.
	err := w.readLedger(ctx, modelstore.RowQuery{Cluster: q.Cluster, Queue: q.Queue, Since: q.Since}, out.Add)
	return out, err
}

// history reads from the ledger how long jobs waited.
func (w *webAPI) history(ctx context.Context, q api.HistoryQuery) (*accuracy.DailyWaits, error) {
	out := accuracy.NewDailyWaits(q.Zone)
	err := w.readLedger(ctx, modelstore.RowQuery{Cluster: q.Cluster, Queue: q.Queue, Since: q.Since, Until: q.Until,
		Outcome: modelstore.Started}, out.Add)
	return out, err
}

// readLedger passes each selected row of the ledger to add. The queue of a row is replaced by the name under which the
// cluster counts that queue now.
func (w *webAPI) readLedger(ctx context.Context, rows modelstore.RowQuery, add func(*modelstore.Row)) error {
	view := w.views.View(rows.Cluster)
	for _, store := range w.stores {
		err := store.Rows(ctx, rows, func(r modelstore.Row) error {
			r.Queue = view.LedgerQueue(r.Queue)
			add(&r)
			return nil
		})
		if errors.Is(err, modelstore.ErrClosed) {
			err = errReloading
		}
		if err != nil {
			return err
		}
	}
	return nil
}
