package outlook

import (
	"errors"
	"slices"
	"testing"
)

// TestFuturesWaitAsTheForecastSays proves that a job has the waits of the standard job of the same size in the
// forecast, even if they are computed after the forecaster has continued. An error of the caller ends the work.
func TestFuturesWaitAsTheForecastSays(t *testing.T) {
	standard := Standard{Name: "wide", Procs: 48, Limit: hour}
	o := small()
	o.Standards, o.Probes, o.Replicas = []Standard{standard}, 16, 16
	c := newCluster(t, o, 64, 14, 2)
	s := c.observe(t, 4*day)
	if err := c.f.SetReplicas(16, 6, 16/probesOf); err != nil {
		t.Fatal(err)
	}
	_, futures, err := c.f.ForecastFutures(t.Context(), &s)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.f.SetReplicas(16, 6, 16); err != nil {
		t.Fatal(err)
	}
	said := forecast(t, c.f, s)
	c.observe(t, 6*day)
	got, err := futures.Waits(t.Context(), "short", standard, o.Horizons, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if futures.Arrivals != said.Arrivals || said.Arrivals == "" {
		t.Errorf("arrivals by %q, the forecast's by %q", futures.Arrivals, said.Arrivals)
	}
	for k, w := range said.Waits {
		if got[k] != w.Seconds {
			t.Errorf("%v h ahead: %v, the forecast says %v", w.Horizon/hour, got[k], w.Seconds)
		}
	}
	if !slices.ContainsFunc(got, func(q Quantiles) bool { return q[median] > 0 }) {
		t.Error("nobody waits: this tests nothing")
	}
	stop := errors.New("enough")
	_, err = futures.Waits(t.Context(), "short", standard, o.Horizons, func() error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("error %v, want that of the caller", err)
	}
}
