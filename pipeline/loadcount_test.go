package pipeline

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/zap"
)

// TestLoadFailuresAreCounted proves that every failure counts, though only the first is logged, and that an orderly end is none.
func TestLoadFailuresAreCounted(t *testing.T) {
	l := newLoadLearner(testConfig().Clusters[0], zap.NewNop())
	defer l.stop()
	v := &View{load: l}
	for i, step := range []struct {
		err  error
		want int64
	}{{nil, 0}, {errors.New("refused"), 1}, {errors.New("refused"), 2}, {context.Canceled, 2}} {
		if failed := l.failed(step.err); failed != (step.err != nil) {
			t.Errorf("step %d: failed is %v", i, failed)
		}
		if _, got := v.LoadForecasts(); got != step.want {
			t.Errorf("step %d: %d failures, want %d", i, got, step.want)
		}
	}
	if made, failures := (&View{}).LoadForecasts(); made != 0 || failures != 0 {
		t.Errorf("%d, %d where the load is not forecast", made, failures)
	}
}
