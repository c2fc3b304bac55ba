package daemon

import (
	"context"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline"
)

// accuracy reads from the ledger how forecasts turned out.
func (d *Daemon) accuracy(ctx context.Context, q api.AccuracyQuery) (*pipeline.Accuracy, error) {
	out := &pipeline.Accuracy{}
	rows := modelstore.RowQuery{Cluster: q.Cluster, Queue: q.Queue, Since: q.Since, Until: q.Until}
	err := d.store.Rows(ctx, rows, func(r modelstore.Row) error {
		out.Add(&r)
		return nil
	})
	return out, err
}
