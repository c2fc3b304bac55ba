package learn_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/forward"
	"github.com/waitcast/waitcast/predictor/forward/learn"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// watched passes to a Learner the events of a simulated machine with that many jobs, at a load at which they often
// wait.
func watched(t *testing.T, cfg simulator.Config, load float64, jobs int, names ...string) *learn.Learner {
	rng := rand.New(rand.NewPCG(7, 7))
	procs := cfg.Procs
	for _, p := range cfg.Pools {
		procs += p.Procs
	}
	clock, n := 0., 0
	cfg.Arrivals = func() (simulator.Job, bool) {
		if n++; n > jobs {
			return simulator.Job{}, false
		}
		runtime := math.Ceil(math.Exp(5 + 4*rng.Float64()))
		size := 1 + rng.IntN(24)
		clock += math.Floor(rng.ExpFloat64() * 12.5 * 1800 / (load * float64(procs)))
		return simulator.Job{
			ID: int64(n), Submit: clock, Procs: size, Runtime: runtime,
			Limit: math.Ceil(runtime * (1 + 3*rng.Float64())), Queue: names[rng.IntN(len(names))],
		}, true
	}
	s, err := simulator.New(cfg)
	check(t, err)
	l := learn.New()
	check(t, s.Advance(math.Inf(1), func(e simulator.Event) {
		switch e.Kind {
		case simulator.Submitted:
			check(t,
				l.Submit(e.Time, learn.Job{ID: e.Job.ID, Queue: e.Job.Queue, Procs: e.Job.Procs, Limit: e.Job.Limit}))
		case simulator.Started:
			check(t, l.Start(e.Time, e.Job.ID))
		case simulator.Ended:
			check(t, l.End(e.Time, e.Job.ID))
		}
	}))
	return l
}

// TestPolicyIsFound proves that a machine's policy is found from its starts.
func TestPolicyIsFound(t *testing.T) {
	three := []simulator.Queue{{Name: "high", Priority: 3}, {Name: "middle", Priority: 2}, {Name: "low", Priority: 1}}
	byQueue := &simulator.Priority{WeightQueue: 1000, WeightAge: 1, Every: -1}
	strict := &simulator.Priority{WeightQueue: 1000, WeightAge: 1, Every: -1, Backfill: simulator.BackfillNone}
	for _, c := range []struct {
		name   string
		policy simulator.Policy
		want   forward.Policy
		order  []string
	}{
		{"fcfs", new(simulator.FCFS), forward.FCFS, nil},
		{"easy", new(simulator.EASY), forward.EASY, nil},
		{"priority", byQueue, forward.PriorityEASY, []string{"high", "middle", "low"}},
		{"strict priority", strict, forward.PriorityFCFS, []string{"high", "middle", "low"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			load := .75
			if c.want == forward.FCFS || c.want == forward.PriorityFCFS {
				load = .6
			}
			l := watched(t, simulator.Config{Procs: 64, Queues: three, Policy: c.policy}, load, 12_000, "high",
				"middle", "low")
			pools := l.Pools()
			if len(pools) != 1 {
				t.Fatalf("%d pools, want 1: %+v", len(pools), pools)
			}
			f := pools[0].Finding
			if pools[0].Procs != 64 || f.Policy != c.want || !slices.Equal(f.Order, c.order) || !f.Enough {
				t.Errorf("found %+v of %d processors, want %v in order %v of 64", f, pools[0].Procs, c.want, c.order)
			}
			if c.want == forward.EASY && f.Legal < f.Checked*99/100 { // a job that is passed often counts as held
				t.Errorf("only %d of %d overtaking starts obey the rule that the machine follows", f.Legal, f.Checked)
			}
		})
	}
}

// TestPoolsAreFound proves that queues of separate pools are separated, that those that share a pool are found, and the
// sizes of the pools.
func TestPoolsAreFound(t *testing.T) {
	l := watched(t, simulator.Config{
		Pools: []simulator.PoolConfig{{Name: "batch", Procs: 96}, {Name: "interactive", Procs: 32}},
		Queues: []simulator.Queue{{Name: "short", Pool: "batch"}, {Name: "long", Pool: "batch"},
			{Name: "shell", Pool: "interactive"}},
		Policy: new(simulator.EASY),
	}, .7, 12_000, "short", "long", "shell")
	type pool struct {
		Queues []string
		Procs  int
	}
	var got []pool
	for _, p := range l.Pools() {
		got = append(got, pool{p.Queues, p.Procs})
	}
	if d := cmp.Diff([]pool{{[]string{"long", "short"}, 96}, {[]string{"shell"}, 32}}, got); d != "" {
		t.Errorf("pools (-want +got):\n%s", d)
	}
}

// TestBadInput proves that invalid input is an error of its kind and changes nothing.
func TestBadInput(t *testing.T) {
	l := learn.New()
	check(t, l.Submit(5, learn.Job{ID: 1, Queue: "q", Procs: 4}))
	for name, c := range map[string]struct{ got, want error }{
		"time goes back":  {l.Start(4, 1), learn.ErrBadInput},
		"no time":         {l.Start(math.NaN(), 1), learn.ErrBadInput},
		"unknown start":   {l.Start(6, 2), learn.ErrUnknownJob},
		"unknown end":     {l.End(6, 2), learn.ErrUnknownJob},
		"no processors":   {l.Submit(6, learn.Job{ID: 3, Queue: "q"}), learn.ErrBadInput},
		"no limit":        {l.Submit(6, learn.Job{ID: 3, Queue: "q", Procs: 1, Limit: math.NaN()}), learn.ErrBadInput},
		"submitted twice": {l.Submit(6, learn.Job{ID: 1, Queue: "q", Procs: 4}), learn.ErrBadInput},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	check(t, l.Start(6, 1))
	if err := l.Start(6, 1); !errors.Is(err, learn.ErrUnknownJob) {
		t.Errorf("second start: %v, want ErrUnknownJob", err)
	}
	check(t, l.End(7, 1))
	if p := l.Pools(); len(p) != 1 || p[0].Finding.Enough {
		t.Errorf("pools %+v, want one about which too little is known", p)
	}
}

// happening is one event of a log in the order of time.
type happening struct {
	at   int64
	kind int // 0 end, 1 submission, 2 start
	job  int
}

// replay passes a trace to a Learner, in the order ends, submissions, starts within an instant.
func replay(t *testing.T, name string) *learn.Learner {
	tr, err := swfload.Open(refdata.Shared(t, "traces/"+name+".swf.gz"), swfload.Options{Queue: true, Keep: true})
	check(t, err)
	var all []happening
	for i := range tr.Jobs {
		if r := &tr.Records[i]; r.Wait >= 0 {
			start := r.Submit + r.Wait
			all = append(all, happening{r.Submit, 1, i}, happening{start, 2, i},
				happening{start + max(1, r.Runtime), 0, i})
		}
	}
	slices.SortStableFunc(all, func(a, b happening) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.kind - b.kind
	})
	l := learn.New()
	for _, h := range all {
		j, id := &tr.Jobs[h.job], int64(h.job)
		switch h.kind {
		case 0:
			check(t, l.End(float64(h.at), id))
		case 1:
			k := learn.Job{ID: id, Queue: j.Queue, Procs: j.Procs, Limit: j.Limit}
			if r := &tr.Records[h.job]; r.Queue >= 0 && r.Partition >= 0 {
				k.Partition = strconv.FormatInt(r.Partition, 10)
			}
			check(t, l.Submit(float64(h.at), k))
		case 2:
			check(t, l.Start(float64(h.at), id))
		}
	}
	return l
}

// TestTraces proves that the result for real machines agrees with what is known of them: the sizes of two, and the
// partitions of others.
func TestTraces(t *testing.T) {
	for _, c := range []struct {
		name     string
		procs    int      // of the largest pool, if the log never has more in use for long
		together []string // queues that share a pool by the log's header,
		apart    string   // and one in another pool
	}{
		{"KTH-SP2-1996-2.1-cln", 100, []string{"default"}, ""},
		{"CTC-SP2-1996-3.1-cln", 338, nil, ""},
		{"SDSC-SP2-1998-4.2-cln", 0, []string{"low", "normal", "high", "express"}, ""},
		{"SDSC-Par-1996-3.1-cln", 0, []string{"q32l", "q64l", "q256s", "standby"}, "interactive"},
		{"DOST-ASTI_COARE-Saliksik-2020-cln", 0, []string{"batch"}, "gpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pools := replay(t, c.name).Pools()
			for _, p := range pools {
				t.Logf("%d processors, %v: %+v", p.Procs, p.Queues, p.Finding)
			}
			if c.procs > 0 && (len(pools) != 1 || pools[0].Procs != c.procs) {
				t.Errorf("%d pools, the first of %d processors; want one of %d", len(pools), pools[0].Procs, c.procs)
			}
			home := slices.IndexFunc(pools, func(p learn.Pool) bool {
				return len(c.together) == 0 || slices.Contains(p.Queues, c.together[0])
			})
			for _, q := range c.together {
				if !slices.Contains(pools[home].Queues, q) {
					t.Errorf("queue %s is not in the pool of %s", q, c.together[0])
				}
			}
			if c.apart != "" && len(c.together) > 0 && slices.Contains(pools[home].Queues, c.apart) {
				t.Errorf("queue %s is in the pool of %s", c.apart, c.together[0])
			}
			if f := pools[max(0, home)].Finding; c.procs == 100 && f.Policy != forward.EASY {
				t.Errorf("policy %v of a machine under EASY", f.Policy)
			}
		})
	}
}
