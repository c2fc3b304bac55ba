package pools

import (
	"math"
	"testing"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// submissions returns one submission for each instant, alternately of queue 1 and 2. The n-th has n processors.
func submissions(instants ...float64) []track.PastJob {
	var out []track.PastJob
	for i, at := range instants {
		out = append(out, track.PastJob{At: at, Limit: 100, Runtime: 10, Procs: i + 1, Queue: 1 + i%2, User: uint64(i)})
	}
	return out
}

// playedArrivals returns the instants and sizes of the first n arrivals of a future.
func playedArrivals(c *comers, at float64, replica, n int) (instants []float64, sizes []int) {
	next := c.arrivals(at)(replica, 1)
	now := at
	for range n {
		a, ok := next()
		if !ok {
			break
		}
		now += a.After
		instants, sizes = append(instants, now), append(sizes, a.Procs)
	}
	return instants, sizes
}

// TestArrivalsRepeatWeeks proves that after two weeks the futures repeat the last week and the one before, at the same
// times of the week, and begin again when they have reached the present.
func TestArrivalsRepeatWeeks(t *testing.T) {
	const at = 2*week + 1000
	c := comers{whole: true, most: 100, past: submissions(500, week-50, week+2000, week+5000, 2*week)}
	for replica, want := range [][]float64{
		{at + 1000, at + 4000, at + week - 1000, at + week + 1000},
		{at + week - 1050, at + week + 1000, at + week + 4000, at + 2*week - 1000, at + 3*week - 1050},
	} {
		got, _ := playedArrivals(&c, at, replica, len(want))
		for i := range want {
			if i >= len(got) || math.Abs(got[i]-want[i]) > 1e-6 {
				t.Fatalf("future %d: arrivals at %v, want %v", replica, got, want)
			}
		}
	}
}

// TestArrivalsOfOnePool proves that jobs of other pools' queues do not arrive, and that the times between the other
// arrivals are as recorded.
func TestArrivalsOfOnePool(t *testing.T) {
	const at = week + 100
	c := comers{ranks: map[int]int{2: 7}, most: 100, past: submissions(50, 150, 250, 350, 450)}
	got, sizes := playedArrivals(&c, at, 0, 3)
	if want := []float64{at + 50, at + 250, at + 50 + week}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] ||
		math.Abs(got[2]-want[2]) > 1e-6 || sizes[0] != 2 || sizes[1] != 4 || sizes[2] != 2 {
		t.Errorf("arrivals %v of sizes %v, want %v of 2, 4 and 2 processors", got, sizes, want)
	}
	if a, _ := c.arrivals(at)(0, 1)(); a.Rank != 7 || a.Limit != 100 || a.Runtime != 10 {
		t.Errorf("the first arrival is %+v, want rank 7, limit 100 and runtime 10", a)
	}
}

// TestArrivalsTakeNodes proves that an arrival has the needs of the earlier submission that it repeats, on the nodes of
// its queue.
func TestArrivalsTakeNodes(t *testing.T) {
	const at = week + 100
	past := submissions(50, 150, 250)
	past[1].Asks = &track.NodeAsks{GPUs: 2, Nodes: 1}
	nodes := (&Nodes{Groups: []NodeGroup{{Queues: []string{"cpu"}, Count: 2, Procs: 8},
		{Queues: []string{"gpu"}, Count: 1, Procs: 8, GPUs: 4}}}).bounded()
	c := comers{whole: true, most: 100, past: past, nodes: nodes, names: map[int]string{1: "cpu", 2: "gpu"}}
	next := c.arrivals(at)(0, 1)
	gpus := forward.Needs{Classes: 2, GPUs: 2, Nodes: 1}
	for i, want := range []forward.Needs{gpus, {Classes: 1}, gpus} {
		if a, _ := next(); a.Needs == nil || *a.Needs != want {
			t.Errorf("arrival %d takes %+v, want %+v", i, a.Needs, want)
		}
	}
	c.nodes = nil
	if a, _ := c.arrivals(at)(0, 1)(); a.Needs != nil {
		t.Errorf("without nodes an arrival takes %+v of them", a.Needs)
	}
}

// TestArrivalsOfAYoungCluster proves that on the first day the futures repeat the newest submissions at rates around
// the recorded one, about half of them faster. Half of the futures stop within a twentieth of the observed time. A
// future is the same each time it is requested.
func TestArrivalsOfAYoungCluster(t *testing.T) {
	var instants []float64
	for i := range 1000 {
		instants = append(instants, float64(10*i))
	}
	const at = 10_000
	c := comers{whole: true, most: 10_000, past: submissions(instants...)}
	faster, short, spread := 0, 0, 3*math.Hypot(rateError, .1) // three standard deviations of the logarithm
	for replica := range replicas {
		got, sizes := playedArrivals(&c, at, replica, 10_000)
		again, _ := playedArrivals(&c, at, replica, 10_000)
		if len(got) != len(again) {
			t.Fatalf("future %d has %d arrivals and then %d", replica, len(got), len(again))
		}
		if len(got) == 0 || got[len(got)-1]-at < goesOn*at {
			short++
		}
		if len(got) == 0 {
			continue
		}
		pace := (got[len(got)-1] - at) / float64(len(got))
		if pace < 10 {
			faster++
		}
		if pace < 10*math.Exp(-spread) || pace > 10*math.Exp(spread) {
			t.Errorf("future %d: an arrival every %v s, recorded were 10 s", replica, pace)
		}
		for _, n := range sizes {
			if n <= len(instants)-youngJobs {
				t.Fatalf("future %d plays submission %d again, which is not among the newest %d", replica, n, youngJobs)
			}
		}
	}
	for what, n := range map[string]int{"faster than what was recorded": faster, "over after a twentieth": short} {
		if n < replicas/3 || n > replicas-replicas/3 {
			t.Errorf("%d of %d futures are %s", n, replicas, what)
		}
	}
}

// TestBurstBeforeAPause proves that a future repeats a burst together with the pause after it: its rate is that of the
// whole observed time, not that of the burst.
func TestBurstBeforeAPause(t *testing.T) {
	var instants []float64
	for i := range 30 {
		instants = append(instants, float64(i)/100)
	}
	const at, mean = 18., 18. / 30
	c := comers{whole: true, most: 10_000, past: submissions(instants...)}
	spread, long := 3*math.Hypot(rateError, 1/math.Sqrt(30)), 0
	for replica := range replicas {
		got, _ := playedArrivals(&c, at, replica, 10_000)
		if len(got) < 2*len(instants) {
			continue
		}
		long++
		if pace := (got[len(got)-1] - at) / float64(len(got)); pace < mean*math.Exp(-spread) {
			t.Errorf("future %d: an arrival every %v s, recorded were %v s", replica, pace, mean)
		}
	}
	if long == 0 {
		t.Error("no future was long enough to be looked at")
	}
}

// TestArrivalsEnd proves that a future has no more arrivals than its bound, none without a history, and none before two
// jobs were seen.
func TestArrivalsEnd(t *testing.T) {
	c := comers{whole: true, most: 30, past: submissions(0, 10, 20)}
	if got, _ := playedArrivals(&c, week+5, 0, 1000); len(got) != 30 {
		t.Errorf("%d arrivals, want the most of 30", len(got))
	}
	for _, past := range [][]track.PastJob{nil, submissions(0), submissions(40, 50, 60)} {
		if a := (&comers{whole: true, most: 30, past: past}).arrivals(30); a != nil {
			t.Errorf("arrivals of %d submissions, of which fewer than two are past", len(past))
		}
	}
}

// TestPriorityOfArrivals proves which priority an arriving job has. It is that of the newest job of the same user that
// waits in the queue, or, if none does, that of the queue's newest job.
func TestPriorityOfArrivals(t *testing.T) {
	tr := track.NewTracker([]float64{.5}, 100, track.Memory{})
	queue, _, _ := tr.Queue("q")
	tr.Clock = 0
	for id, priority := range []float64{50, 70, 60} {
		user := []string{"a", "a", "b"}[id]
		j := tr.Enter(uint64(id), 0, track.Request{Queue: "q", User: user, Procs: 1, Priority: priority}, queue)
		tr.Wait(j)
		tr.Law(j, 0)
		tr.Past.Record(j)
		tr.Compete(j)
	}
	m := New(Config{Levels: []float64{.5}}, tr)
	f := m.Freeze(nil)
	if !f.prioritized || f.policy != forward.PriorityEASY {
		t.Fatalf("the pool is played as %v", f.policy)
	}
	a, b, c := tr.Past.Window(3)[1], tr.Past.Window(3)[2], tr.Past.Window(3)[0]
	c.User = 99
	for _, tc := range []struct {
		of       *track.PastJob
		priority float64
	}{{&a, 70}, {&b, 60}, {&c, 60}} {
		if rank, here := f.later.rankOf(tc.of); !here || rank != rankByPriority(tc.priority) {
			t.Errorf("rank %d, want that of priority %v", rank, tc.priority)
		}
	}
}
