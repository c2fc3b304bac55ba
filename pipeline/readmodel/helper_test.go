package readmodel

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/eventtest"
	"github.com/waitcast/waitcast/pipeline/livemodels"
)

func at(seconds float64) time.Time { return eventtest.At(seconds) }

func event(kind job.Kind, id string, second float64) job.Event {
	return eventtest.New(kind, id, second)
}

// folded is a cluster "c" of 128 processors with its workload models. It follows events without a pipeline.
type folded struct {
	testing.TB
	state  *cluster.State
	models *livemodels.Models
}

func newFolded(t testing.TB, cfg livemodels.Config) *folded {
	t.Helper()
	f := &folded{TB: t, state: cluster.New("c", 128)}
	var err error
	f.models, err = livemodels.New(cfg, livemodels.Site{Pool: f.state.Pool, Running: f.state.Running})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// take applies an event. As in the pipeline, a model that refuses the event does not stop anything.
func (f *folded) take(ev job.Event) {
	f.state.Apply(ev, &cluster.Hooks{Changed: func(c cluster.Change) { _ = f.models.Learn(changes.Of(c, f.state)) }})
}

func (f *folded) view() *View { return New(View{View: f.state.View(), Models: f.models.View()}) }
