package daemon_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/cluster/lives"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/predictor/backtest"
	"github.com/waitcast/waitcast/predictor/engine"
)

// TestBacktestHasTheDaemonsFigures proves that a backtest of a log with bad lines and deleted jobs gives the same
// forecasts, to the last bit, as the ledger of a daemon that read that log.
func TestBacktestHasTheDaemonsFigures(t *testing.T) {
	notUnderRace(t) // a backtest shares nothing with the daemon
	s, records := newSite(t, "accounting", ""), workload(t, 11, 700)
	s.add(t, text(records))
	d := s.start(t)
	d.caughtUp()
	want := map[string][]float64{}
	err := daemon.Store(d.Daemon).Rows(t.Context(), modelstore.RowQuery{}, func(r modelstore.Row) error {
		want[fmt.Sprintf("%s %d", r.JobID, r.Attempt)] = r.Quantiles
		return nil
	})
	must(t, err)
	if len(want) < 500 {
		t.Fatalf("%d rows in the ledger", len(want))
	}

	h, err := history.Read(t.Context(), []string{s.log}, history.Config{Formats: history.Formats(time.Now),
		Now: time.Now(), Options: collector.Options{Location: time.UTC, MaxProcs: machine}})
	must(t, err)
	defer func() { must(t, h.Close()) }()
	l, err := lives.Fold(func(do func(job.Event) error) error {
		return h.Each(func(ev *history.Event) error { return do(ev.Event) })
	})
	must(t, err)
	trace, err := backtest.FromLives("log", l)
	must(t, err)
	e, err := engine.New(engine.Config{Capacity: machine, Levels: waittime.Levels(), Downey: true})
	must(t, err)
	defer e.Close()
	compared := 0
	trace.Replay(e, func(i int, f engine.Forecast) {
		key := fmt.Sprintf("%s %d", trace.Jobs[i].ID(), l.Jobs[i].Attempt)
		row, ok := want[key]
		if !ok || f.Quantiles == nil {
			return
		}
		compared++
		if diff := cmp.Diff(row, accuracy.Finite(f.Quantiles)); diff != "" && !t.Failed() {
			t.Errorf("job %s (-daemon +backtest):\n%s", key, diff)
		}
	})
	if compared < len(want)-50 {
		t.Errorf("%d forecasts of %d were compared", compared, len(want))
	}
}
