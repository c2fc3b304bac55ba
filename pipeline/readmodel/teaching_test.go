package readmodel_test

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// TestTeachingConditions proves that the condition about a history says whether the history is being learnt, or
// forecasts continue without it, and shows the progress.
func TestTeachingConditions(t *testing.T) {
	for _, c := range []struct {
		teaching readmodel.Teaching
		want     string
	}{
		{readmodel.Teaching{Done: 30, Total: 40, Remaining: 90 * time.Second, Usable: true},
			"history_learning: cluster c: learning from logs of the past: 75 % done, about 2 min left"},
		{readmodel.Teaching{Done: 30, Total: 40, Usable: true, Failure: "damaged"},
			"history_failing: cluster c: cannot be learnt, forecasts go on without it: import the logs again: damaged"},
		{readmodel.Teaching{Done: 1, Total: 4, Remaining: time.Second, Failure: "damaged"},
			"history_failing: cluster c: cannot be learnt, the state is built without it: import the logs again: " +
				"damaged: 25 % done, about 1 s left"},
	} {
		v := readmodel.New(readmodel.View{View: &cluster.View{Cluster: "c"}, Teaching: &c.teaching})
		got := v.Conditions()
		if len(got) != 1 || got[0].String() != c.want {
			t.Errorf("%+v: the conditions are %v, want %q", c.teaching, got, c.want)
		}
	}
}
