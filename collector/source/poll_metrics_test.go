package source

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/waitcast/waitcast/collector"
)

// TestConsecutiveFailures proves that the counter has the failures in a row, whatever their reasons, and that a call
// without an error resets it to 0.
func TestConsecutiveFailures(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewPollMetrics(registry)
	cfg := &Config{Name: "c/asked", Options: collector.Options{Cluster: "c"}}
	m.touch(cfg)
	if n := testutil.CollectAndCount(m.inARow); n != 1 {
		t.Errorf("%d series before the first call, want 1", n)
	}
	for i, step := range []struct {
		err  error
		want float64
	}{
		{&CallError{Reason: FailedTimeout, Err: errors.New("killed")}, 1}, {errors.New("failed"), 2}, {nil, 0},
		{nil, 0}, {errors.New("failed"), 1},
	} {
		m.observe(cfg, time.Second, time.Unix(1, 0), step.err)
		if got := testutil.ToFloat64(m.inARow); got != step.want {
			t.Errorf("call %d: %v failures in a row, want %v", i, got, step.want)
		}
	}
}
