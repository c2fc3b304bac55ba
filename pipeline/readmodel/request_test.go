package readmodel

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/livemodels"
)

// ruled is a cluster of 4 nodes of 16 processors whose scheduler orders jobs by its rules. By the manual of Slurm's
// multifactor plugin, with these weights, a job has 2000 times its user's share, 1000 times its queue's factor as a
// part of the largest one, 500 times its part of the processors and 10000 for a day of waiting.
func ruled(t *testing.T, jobs ...job.Event) *View {
	t.Helper()
	f := newFolded(t, livemodels.Config{})
	facts := event(job.Machine, job.MachineID, 0)
	facts.Facts = &job.Facts{
		Nodes: []job.NodeGroup{{Queues: []string{"long", "short"}, Count: 4, Node: job.NodeResources{Procs: 16}}},
		Queues: []job.QueueFacts{
			{Name: "short", Factor: 100}, {Name: "long", Factor: 10},
		},
		Weights: &job.Weights{Age: 10000, FairShare: 2000, JobSize: 500, Queue: 1000, MaxAge: 24 * time.Hour},
		Shares: []job.Share{
			{Account: "physics", User: "ann", Factor: 1}, {Account: "biology", User: "ann", Factor: .5},
			{Account: "physics", User: "bob", Factor: .5},
		},
	}
	f.take(facts)
	for _, ev := range jobs {
		f.take(ev)
	}
	return f.view()
}

// prioritized is a job of ann's with a priority of the scheduler's, which it has at the second of the event.
func prioritized(kind job.Kind, id string, second float64, queue string, procs int, priority int64) job.Event {
	ev := event(kind, id, second)
	ev.Attributes = job.Attributes{
		Queue: queue, Procs: procs, User: "ann", Account: "physics", TimeLimit: time.Hour, Priority: priority,
	}
	return ev
}

// TestRequestsHaveReportedShares: fair shares move faster than they are asked for. The priorities that the scheduler
// reports with jobs tell what they are, so a request of the same user has the priority that the scheduler would give
// it.
func TestRequestsHaveReportedShares(t *testing.T) {
	// Of 16 processors in short without waiting: 1000 + 125 + 2000 x share.
	submitted := prioritized(job.Submit, "1", 10, "short", 16, 1525) // a share of 0.2, not 1
	nice := prioritized(job.Submit, "2", 11, "short", 16, 525)       // and a nice value of 1000
	again := prioritized(job.Submit, "3", 11, "short", 16, 1525)
	held := event(job.Hold, "1", 12)
	start := event(job.Start, "1", 874) // after 864 s, a hundredth of a day
	waited := prioritized(job.Update, "1", 874, "short", 16, 1625)
	// What is asked for: 32 processors in long, 100 + 250 + 2000 x share.
	ask := job.Attributes{Queue: "long", Procs: 32, User: "ann", TimeLimit: time.Hour}
	for _, c := range []struct {
		name string
		jobs []job.Event
		as   func(*job.Attributes)
		want float64
	}{
		{name: "no job", want: 2350},
		{name: "a waiting one", jobs: []job.Event{submitted}, want: 750},
		{name: "in that account", jobs: []job.Event{submitted}, want: 750,
			as: func(a *job.Attributes) { a.Account = "physics" }},
		{name: "in another account", jobs: []job.Event{submitted}, want: 1350,
			as: func(a *job.Attributes) { a.Account = "biology" }},
		{name: "of another user", jobs: []job.Event{submitted}, want: 1350,
			as: func(a *job.Attributes) { a.User = "bob" }},
		{name: "a running one", jobs: []job.Event{submitted, waited, start}, want: 750},
		{name: "one that has waited", jobs: []job.Event{submitted, waited}, want: 750},
		{name: "a held one", jobs: []job.Event{submitted, held}, want: 2350},
		{name: "one of three with a nice value", jobs: []job.Event{submitted, nice, again}, want: 750},
		{name: "a priority of its own", jobs: []job.Event{submitted}, want: 7,
			as: func(a *job.Attributes) { a.Priority = 7 }},
		// 100 + 250 + 2000 - 3000 would be no priority
		{name: "below the least", jobs: []job.Event{prioritized(job.Submit, "1", 10, "short", 16, 125)}, want: 1},
	} {
		v := ruled(t, c.jobs...)
		request := ask
		if c.as != nil {
			c.as(&request)
		}
		for range 2 { // the second time from what was worked out
			// The scheduler cuts each summand to a whole number.
			if got := v.PrioritizedRequest(&request).Priority; got < c.want-3 || got > c.want+3 {
				t.Errorf("%s: a priority of %g, want %g", c.name, got, c.want)
			}
		}
	}
}
