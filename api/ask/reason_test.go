package ask

import (
	"strings"
	"testing"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/pipeline/accuracy"
)

// TestReasonAgreesWithTheNumbers proves that the sentence about the reason agrees with the numbers, even if the free
// processors suggest another start. It mentions past jobs only if waits were learnt.
func TestReasonAgreesWithTheNumbers(t *testing.T) {
	free := wire.ClusterState{Binds: "procs", Capacity: 64, Free: 30}
	behind := wire.ClusterState{Binds: "procs", Capacity: 64, Free: 30, QueuedAheadJobs: 1, QueuedAhead: 40, Needed: 20}
	full := wire.ClusterState{Binds: "procs", Capacity: 64, Free: 2, RunningJobs: 3, Needed: 6}
	for _, c := range []struct {
		name    string
		state   wire.ClusterState
		minute  float64 // probability of a start within one minute
		median  *float64
		method  string
		basis   wire.Basis
		causes  []string
		want    string
		without string
	}{
		{"free and at once", free, .9, number(0), accuracy.Waitcast, wire.Basis{Learnt: 400, RestsOn: "trees"}, nil,
			"starts at once if it fits: 30 of 64 processors are free and nobody is ahead", "but"},
		{"free, and they have waited", free, .2, number(220), accuracy.Waitcast,
			wire.Basis{Learnt: 400, RestsOn: "trees"}, nil,
			"30 of 64 processors are free and nobody is ahead, but such jobs have lately started later than free " +
				"processors suggest: half of them start within about 4 min (why is not known here)", "starts at once"},
		{"free, and causes are known", free, .2, number(220), accuracy.Waitcast,
			wire.Basis{Learnt: 40, RestsOn: "recent"}, []string{"a", "b"},
			"half of them start within about 4 min (known of why: a; b)", "starts at once"},
		{"free, and the simulation has it wait", free, .2, number(220), accuracy.Waitcast,
			wire.Basis{Learnt: 40, RestsOn: "simulation"}, nil,
			"played forward with what is known of the queue it starts later than free processors suggest", "lately"},
		{"free, and nothing is learnt", free, .2, nil, "exact_queue", wire.Basis{}, nil,
			"by the forecast it starts later than free processors suggest: half of them may never start", "lately"},
		{"full, and they start at once", full, .8, number(0), accuracy.Waitcast,
			wire.Basis{Learnt: 400, RestsOn: "linear"}, nil,
			"next in line: 2 of 64 processors are free, 6 more must be freed by the 3 jobs that run, but such jobs " +
				"have lately started sooner than free processors suggest: half of them start within less than a minute",
			"later"},
		{"full, and it waits", full, .1, number(500), accuracy.Waitcast,
			wire.Basis{Learnt: 400, RestsOn: "linear"}, nil,
			"next in line: 2 of 64 processors are free, 6 more must be freed by the 3 jobs that run", "but"},
		{"behind a job, between which and the others it may fit", behind, .8, number(0), accuracy.Waitcast,
			wire.Basis{Learnt: 400, RestsOn: "linear"}, nil,
			"20 must be freed first, unless this job fits between them", "but"},
	} {
		w := wire.Wait{State: c.state, Method: c.method, Basis: c.basis, WaitSeconds: wire.Quantiles{P50: c.median},
			StartWithin: wire.StartWithin{Minute: c.minute}}
		got := situation(&w, true)
		if d := disagreement(&w, c.causes); d != "" {
			got += ", " + d
		}
		if !strings.Contains(got, c.want) || strings.Contains(got, c.without) {
			t.Errorf("%s: %q; want %q and no %q", c.name, got, c.want, c.without)
		}
	}
}

// TestReasonNamesTheRunningJobs checks the grammar of the sentence about the jobs that must end first.
func TestReasonNamesTheRunningJobs(t *testing.T) {
	for running, want := range map[int]string{
		0: "6 more must become free, and no job runs", 1: "6 more must be freed by the job that runs",
		2: "6 more must be freed by the 2 jobs that run",
	} {
		w := wire.Wait{State: wire.ClusterState{Binds: "procs", Capacity: 64, Free: 2, RunningJobs: running, Needed: 6}}
		if got := situation(&w, true); got != "next in line: 2 of 64 processors are free, "+want {
			t.Errorf("%d jobs run: %q, want %q", running, got, want)
		}
	}
}

// TestReasonPromisesNoStart proves that the sentence about the reason does not promise a start at once if the job may
// not start, even if processors are free and the forecast wait is short.
func TestReasonPromisesNoStart(t *testing.T) {
	w := wire.Wait{State: wire.ClusterState{Binds: "procs", Capacity: 64, Free: 30},
		StartWithin: wire.StartWithin{Minute: .9}}
	const free = "30 of 64 processors are free and nobody is ahead"
	if got := situation(&w, true); got != "starts at once if it fits: "+free {
		t.Errorf("%q", got)
	}
	if got := situation(&w, false); got != free {
		t.Errorf("%q, want only what is free", got)
	}
}

// TestNowNamesWhyNothingStarts checks the sentences about a queue in which no job would start at once.
func TestNowNamesWhyNothingStarts(t *testing.T) {
	for free, want := range map[int]string{
		0: "nothing: no processor is free",
		1: "nothing: 1 processor is free, but it is kept for jobs that already wait",
		9: "nothing: 9 processors are free, but they are kept for jobs that already wait",
	} {
		if got := nowReason(&wire.NowQueue{Free: free, PlanAge: number(0)}); got != want {
			t.Errorf("%d free: %q, want %q", free, got, want)
		}
	}
}

// TestBasisSaysWhatIsLearnt proves that the description of the basis of a forecast is right: it says that no wait was
// learnt only if none was.
func TestBasisSaysWhatIsLearnt(t *testing.T) {
	const headQueue = "exact_queue"
	for _, c := range []struct {
		method string
		basis  wire.Basis
		want   string
	}{
		{headQueue, wire.Basis{}, "no wait has been learnt yet: first come, first served is assumed"},
		{headQueue, wire.Basis{Learnt: 40},
			"first come, first served is assumed: nothing that was learnt (40 waits) is of use for such a job"},
		{accuracy.Waitcast, wire.Basis{Learnt: 1}, "little is known yet: 1 wait learnt"},
		{accuracy.Waitcast, wire.Basis{Learnt: 400, Similar: 2}, "learnt from 2 waits of such jobs and 400 in all"},
	} {
		if got := basis(&wire.Wait{Method: c.method, Basis: c.basis}); got != c.want {
			t.Errorf("%s after %d waits: %q, want %q", c.method, c.basis.Learnt, got, c.want)
		}
	}
}

func number(x float64) *float64 { return &x }
