package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector/pbs"
)

// Budget of the design, section 10: log line to new forecast, 99 % under 100 ms.
const (
	latencyLines = 1000
	latencyLimit = 100 * time.Millisecond
)

// TestLatency proves that an answer with the new state (picture, models and exact predictor) is served within 100 ms of the
// append of a line, 99 times in 100. A loaded machine gets a second try.
func TestLatency(t *testing.T) {
	if testing.Short() {
		t.Skip("a measurement, which means nothing under the race detector: left out by -short")
	}
	p50, p99 := measureLatency(t)
	t.Logf("line appended to new forecast served, over %d lines: p50 %s, p99 %s", latencyLines, p50, p99)
	if p99 > latencyLimit {
		t.Logf("over the limit of %s: the machine may be loaded, trying once more", latencyLimit)
		if p50, p99 = measureLatency(t); p99 > latencyLimit {
			t.Errorf("p50 %s, p99 %s also at the second try, want p99 at most %s", p50, p99, latencyLimit)
		}
	}
}

func measureLatency(t *testing.T) (p50, p99 time.Duration) {
	t.Helper()
	s := newSite(t, "accounting", "")
	history := workload(t, 11, 600)
	begin := history[len(history)-1].at.Add(time.Hour)
	s.add(t, text(history))
	d := s.startAt(t, func() time.Time { return begin })
	defer d.stop()
	d.caughtUp()
	var took []time.Duration
	for i, line := range churn(begin, latencyLines) {
		at := time.Now()
		s.add(t, line.text)
		for !d.sees(line.at) {
			if time.Since(at) > patience {
				t.Fatalf("line %d is not served after %s", i, patience)
			}
		}
		took = append(took, time.Since(at))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// sees asks for the forecast of a job as large as the machine and reports whether it was made from a record of that instant.
func (r *running) sees(at time.Time) bool {
	r.t.Helper()
	status, body := r.get(fmt.Sprintf("/v1/wait?queue=long&procs=%d&time_limit=2h", machine))
	if status != http.StatusOK {
		r.t.Fatalf("status %d: %s", status, body)
	}
	var w wire.Wait
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		r.t.Fatal(err)
	}
	if w.WaitSeconds.P50 == nil {
		r.t.Fatalf("no median: %s", body)
	}
	return w.AsOf.Equal(at)
}

// churn returns n lines a second apart: jobs of 3 processors that are submitted, started and ended in turn, so that 20 of
// them run, behind five that wait all the time.
func churn(begin time.Time, n int) []record {
	at := begin
	rec := func(id int) pbs.Record {
		return pbs.Record{
			ID: fmt.Sprintf("c%d.test", id), User: "u", Queue: "medium", Created: at, Queued: at, Eligible: at,
			Procs: 3, Nodes: 1, TimeLimit: time.Hour,
		}
	}
	var out []record
	emit := func(line []byte) {
		out = append(out, record{at, string(line)})
		at = at.Add(time.Second)
	}
	for id := range 5 {
		large := rec(-id - 1)
		large.Procs = machine
		emit(pbs.AppendQueued(nil, large))
	}
	var jobs []pbs.Record
	for id := 0; len(out) < n; id++ {
		j := rec(id)
		emit(pbs.AppendQueued(nil, j))
		j.Start = at
		emit(pbs.AppendStarted(nil, j))
		jobs = append(jobs, j)
		if len(jobs) > 20 {
			jobs[0].End = at
			emit(pbs.AppendEnded(nil, jobs[0]))
			jobs = jobs[1:]
		}
	}
	return out[:n]
}
