package readmodel

import (
	"slices"
	"testing"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// TestRestOfABeginTime checks the remaining wait of a job that may not start for another 100 s. If the forecast
// includes the begin time, the remaining wait is the rest of the forecast distribution, at least 100 s. Otherwise,
// until the begin time is reached, it is the time until then plus the whole distribution.
func TestRestOfABeginTime(t *testing.T) {
	submit := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	j := &cluster.Job{Submit: submit, Eligible: submit.Add(150 * time.Second), Held: true,
		Attributes: job.Attributes{Reason: "BeginTime"}}
	now := submit.Add(50 * time.Second)
	plain := Served{Levels: waittime.Levels(), Quantiles: []float64{0, 10, 20, 30, 60, 90}}
	if got, want := plain.RestOf(j, now), []float64{100, 110, 120, 130, 160, 190}; !slices.Equal(got, want) {
		t.Errorf("known later: %v, want %v", got, want)
	}
	counted := Served{Levels: waittime.Levels(), Quantiles: []float64{150, 160, 170, 180, 210, 240}}
	if got := counted.RestOf(j, now); got[0] < 99 || got[5] > 191 || !slices.IsSorted(got) {
		t.Errorf("known at the submission: %v, want from 100 to 190 s", got)
	}
	over := submit.Add(151 * time.Second)
	if got, want := plain.RestOf(j, over), plain.Rest(151); !slices.Equal(got, want) {
		t.Errorf("once it is over: %v, want %v", got, want)
	}
	j.Held, j.Reason = false, ""
	if got, want := plain.RestOf(j, now), plain.Rest(50); !slices.Equal(got, want) {
		t.Errorf("of a job that competes: %v, want %v", got, want)
	}
}

// TestRestOfAReleasedJob checks the remaining wait of a job that by its forecast should have started at once, but was
// held while another job took all processors. After the release, the remaining wait is the simulated rest of the other
// job's 1,000 s, and falls with time. While the job is held, and for a job that was never held, the remaining wait
// comes from the forecast.
func TestRestOfAReleasedJob(t *testing.T) {
	submit := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	j := &cluster.Job{Seq: 1, Submit: submit, Eligible: submit.Add(400 * time.Second),
		Attributes: job.Attributes{Queue: "q", Procs: 8, TimeLimit: 1000 * time.Second}}
	other := &cluster.Job{Seq: 2}
	e, err := engine.New(engine.Config{Capacity: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	r := EngineRequest(&j.Attributes)
	const now = 1000. // seconds of the engine's clock
	e.Submit(now-400, EngineID(j), r)
	e.Hold(now-400, EngineID(j), track.Hold{})
	e.Submit(now-300, EngineID(other), r)
	e.Start(now-300, EngineID(other), true)
	e.Release(now, EngineID(j))
	v := New(View{View: &cluster.View{At: submit.Add(400 * time.Second)}, Engine: e.View(now)})
	s := &Served{Levels: waittime.Levels(), Quantiles: []float64{0, 0, 0, 1, 2, 3}}
	got := v.RestOf(s, j, v.At)
	if got[2] <= 3 || got[5] > 700 || !slices.IsSorted(got) {
		t.Errorf("released: %v, want at most the 700 s that the other job has left", got)
	}
	for i, later := range v.RestOf(s, j, v.At.Add(10*time.Second)) {
		if want := max(0, got[i]-10); later != want {
			t.Errorf("10 s later: %v s at level %d, want %v", later, i, want)
		}
	}
	for name, kept := range map[string]cluster.Job{"held": {Held: true, Eligible: j.Eligible}, "never held": {}} {
		kept.Seq, kept.Submit, kept.Attributes = j.Seq, j.Submit, j.Attributes
		if got, want := v.RestOf(s, &kept, v.At), s.RestOf(&kept, v.At); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
