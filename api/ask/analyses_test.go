package ask

import (
	"runtime"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// TestAnalysesKeepNoViews proves that an analysis is made once for each view. The cache does not keep a view in memory
// that is otherwise unused. Each queue's analysis belongs to the view of the last request.
func TestAnalysesKeepNoViews(t *testing.T) {
	models, err := livemodels.New(livemodels.Config{WindowJobs: 100, WindowAge: time.Hour, MinSamples: 2,
		HistoryJobs: 10}, livemodels.Site{})
	if err != nil {
		t.Fatal(err)
	}
	view := func() *readmodel.View {
		state := cluster.New("c", 64)
		at := time.Unix(1e9, 0)
		state.Apply(job.Event{Kind: job.Submit, Cluster: "c", ID: "1", Time: at, Times: job.Times{Submit: at},
			Attributes: job.Attributes{Queue: "q", Procs: 1}}, nil)
		return &readmodel.View{View: state.View(), Models: models.View()}
	}
	var a analyses
	now := func() time.Time { return time.Unix(2e9, 0) }
	one := view()
	first := a.of(one, "q", 0, now)
	if a.of(one, "q", 0, now) != first {
		t.Error("a second analysis was made of the same view")
	}
	kept := first.view
	two := view()
	if a.of(two, "other", 0, now) == first || a.of(two, "q", time.Hour, now) != first {
		t.Error("an analysis of an earlier view counts for another queue, or not for an hour for its own")
	}
	runtime.KeepAlive(one) // after this line the view is not used
	runtime.GC()
	if kept.Value() != nil {
		t.Error("the view of an analysis is kept")
	}
	if a.of(two, "q", 0, now) == first {
		t.Error("the analysis of a view counts for another one")
	}
	runtime.KeepAlive(two)
}
