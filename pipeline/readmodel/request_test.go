package readmodel

import (
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline/livemodels"
)

// ruled returns a view of a cluster of 4 nodes of 16 processors, whose scheduler has reported its rules of priority. By
// the manual of Slurm's multifactor plugin, the priority of a job with these weights is the sum of four terms: 2000
// times the fair share of its user, 1000 times the factor of its queue divided by the largest factor, 500 times its
// share of the processors, and 10000 per day of waiting.
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

// prioritized returns an event of a job of the user ann, with the priority that the scheduler reports at that second.
func prioritized(kind job.Kind, id string, second float64, queue string, procs int, priority int64) job.Event {
	ev := event(kind, id, second)
	ev.Attributes = job.Attributes{
		Queue: queue, Procs: procs, User: "ann", Account: "physics", TimeLimit: time.Hour, Priority: priority,
	}
	return ev
}

// TestRequestsHaveReportedShares proves that a request gets the priority that the scheduler would give it. Because fair
// shares change faster than they are queried, the fair share is derived from the reported priorities of the user's
// other jobs.
func TestRequestsHaveReportedShares(t *testing.T) {
	// For 16 processors in the queue short without any wait, the rules give 1000 + 125 + 2000 x share.
	submitted := prioritized(job.Submit, "1", 10, "short", 16, 1525) // a share of 0.2 instead of 1
	nice := prioritized(job.Submit, "2", 11, "short", 16, 525)       // with a nice value of 1000
	known, lowest := nice, prioritized(job.Submit, "2", 11, "short", 16, 1)
	known.Nice, lowest.Nice = 1000, 5000
	again := prioritized(job.Submit, "3", 11, "short", 16, 1525)
	held := event(job.Hold, "1", 12)
	start := event(job.Start, "1", 874) // after 864 s, a hundredth of a day
	waited := prioritized(job.Update, "1", 874, "short", 16, 1625)
	// For the request, with 32 processors in the queue long, they give 100 + 250 + 2000 x share.
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
		{name: "one that is known to have one", jobs: []job.Event{known}, want: 750},
		{name: "one whose priority says nothing", jobs: []job.Event{lowest}, want: 2350},
		{name: "a priority of its own", jobs: []job.Event{submitted}, want: 7,
			as: func(a *job.Attributes) { a.Priority = 7 }},
		// 100 + 250 + 2000 - 3000 is below 1, the lowest priority
		{name: "below the least", jobs: []job.Event{prioritized(job.Submit, "1", 10, "short", 16, 125)}, want: 1},
	} {
		v := ruled(t, c.jobs...)
		request := ask
		if c.as != nil {
			c.as(&request)
		}
		for range 2 { // the second round uses the cached shares
			// The scheduler rounds each term down to a whole number.
			if got := v.PrioritizedRequest(&request).Priority; got < c.want-3 || got > c.want+3 {
				t.Errorf("%s: a priority of %g, want %g", c.name, got, c.want)
			}
		}
	}
}
