package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector/pbs"
)

// loadOf returns the forecast of the load, nil if there is none yet.
func (r *running) loadOf() *wire.LoadForecast {
	r.t.Helper()
	status, body := r.get("/v1/forecast")
	if status != http.StatusOK {
		return nil
	}
	var f wire.LoadForecast
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		r.t.Fatal(err)
	}
	return &f
}

// fortnight returns the log of two weeks in which a job of 48 processors is submitted every 20 minutes by day, and none
// at night. In the afternoons there is a queue.
func fortnight() []record {
	var log []record
	free := epoch()
	for i := range 14 * 36 {
		at := epoch().Add(time.Duration(i/36)*24*time.Hour + 8*time.Hour + time.Duration(i%36)*20*time.Minute)
		r := pbs.Record{
			ID: fmt.Sprintf("f%d.test", i), User: fmt.Sprintf("u%d", i%7),
			Queue:   []string{"short", "medium", "long"}[i%3],
			Created: at, Queued: at, Eligible: at,
			Procs: 48, Nodes: 1, TimeLimit: time.Hour,
		}
		log = append(log, record{at, string(pbs.AppendQueued(nil, r))})
		if free.Before(at) {
			free = at
		}
		r.Start = free
		log = append(log, record{r.Start, string(pbs.AppendStarted(nil, r))})
		r.End = r.Start.Add(time.Duration(18+i%7) * time.Minute)
		log = append(log, record{r.End, string(pbs.AppendEnded(nil, r))})
		free = r.End
	}
	slices.SortStableFunc(log, func(a, b record) int { return a.at.Compare(b.at) })
	return log
}

// TestLoadForecast proves that a daemon forecasts the load from a log alone, that the forecast includes new lines, and
// that the next process has the data that the first one learnt.
func TestLoadForecast(t *testing.T) {
	s := newSite(t, "accounting", "")
	log := fortnight()
	end := log[len(log)-1].at
	s.add(t, text(log))
	var clock atomic.Pointer[time.Time]
	clock.Store(&end)
	now := func() time.Time { return *clock.Load() }
	d := s.startAt(t, now)
	d.caughtUp()
	var first *wire.LoadForecast
	d.eventually("a forecast of the load", func() bool { first = d.loadOf(); return first != nil })
	if !first.MadeFor.Equal(end) || len(first.Loads) < 2 || len(first.Loads[0].Horizons) != 8 ||
		first.Loads[0].Horizons[7].JobsPerHour.P95 <= 0 {
		t.Fatalf("the forecast after the log is for %v with %d loads, jobs to come %+v; want one for %v, and that "+
			"jobs come",
			first.MadeFor, len(first.Loads),
			first.Loads[0].Horizons[7].JobsPerHour, end)
	}
	if first.Arrivals.Model == "" {
		t.Error("there is no model of arrivals after a fortnight")
	}
	more := churn(end.Add(time.Minute), 660) // eleven minutes of the log
	last := more[len(more)-1].at
	clock.Store(&last)
	s.add(t, text(more))
	newest := last.Truncate(5 * time.Minute)
	var second *wire.LoadForecast
	d.eventually("a forecast of all that came since", func() bool {
		second = d.loadOf()
		return !second.MadeFor.Before(newest)
	})
	if second.MadeFor.Unix()%300 != 0 {
		t.Errorf("it is for %v, not a multiple of five minutes", second.MadeFor)
	}
	d.stop()
	again := s.startAt(t, now)
	again.caughtUp()
	var third *wire.LoadForecast
	again.eventually("a forecast of the next process", func() bool { third = again.loadOf(); return third != nil })
	if got, want := third.Learnt.Horizons, second.Learnt.Horizons; len(got) != len(want) ||
		got[4].Outcomes < want[4].Outcomes || want[4].Outcomes == 0 {
		t.Errorf("the next process has learnt from %+v, the first had from %+v", got, want)
	}
}
