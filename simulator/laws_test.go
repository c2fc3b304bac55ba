package simulator_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/simulator"
)

// drawEstimated draws jobs in order of submission. Their estimates are upper bounds of 1 s or more.
func drawEstimated(t *rapid.T, procs int) []simulator.Job {
	second := func(least, most int) float64 { return float64(rapid.IntRange(least, most).Draw(t, "seconds")) }
	jobs := make([]simulator.Job, rapid.IntRange(0, 60).Draw(t, "jobs"))
	for i := range jobs {
		j := &jobs[i]
		*j = simulator.Job{Submit: second(0, 60), Procs: rapid.IntRange(1, procs).Draw(t, "procs"),
			Runtime: second(1, 30)}
		j.Estimate = j.Runtime + second(0, 3)*second(0, 10)
	}
	slices.SortStableFunc(jobs, func(a, b simulator.Job) int { return int(a.Submit - b.Submit) })
	for i := range jobs {
		jobs[i].ID = int64(i)
	}
	return jobs
}

// starts runs jobs and returns the start of each.
func starts(t *rapid.T, cfg simulator.Config, jobs []simulator.Job) []float64 {
	cfg.Arrivals = simulator.FromSlice(jobs)
	s, err := simulator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(jobs))
	if err := s.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Started {
			out[e.Job.ID] = e.Time
		}
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPriorityByAgeIsTheOrderOfSubmission compares the priority policy with the others: by age alone it equals EASY, or
// FCFS.
func TestPriorityByAgeIsTheOrderOfSubmission(t *testing.T) {
	for name, c := range map[string]struct {
		backfill simulator.Backfill
		same     simulator.Policy
	}{
		"EASY": {simulator.BackfillEASY, new(simulator.EASY)},
		"FCFS": {simulator.BackfillNone, new(simulator.FCFS)},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				procs := rapid.IntRange(1, 40).Draw(t, "machine")
				jobs := drawEstimated(t, procs)
				cfg := simulator.Config{Procs: procs, Outages: drawOutages(t, procs), Policy: c.same}
				want := starts(t, cfg, jobs)
				cfg.Policy = &simulator.Priority{WeightAge: 1, MaxAge: 1e9, Every: -1, Window: math.Inf(1),
					Backfill: c.backfill}
				if d := cmp.Diff(want, starts(t, cfg, jobs)); d != "" {
					t.Fatalf("starts (-%s +priority):\n%s", name, d)
				}
			})
		})
	}
}

func drawOutages(t *rapid.T, procs int) (out []simulator.Outage) {
	for range rapid.IntRange(0, 2).Draw(t, "outages") {
		from := float64(rapid.IntRange(0, 80).Draw(t, "from"))
		out = append(out, simulator.Outage{
			From: from, Until: from + float64(rapid.IntRange(1, 50).Draw(t, "for")),
			Procs: rapid.IntRange(0, procs/2).Draw(t, "away"),
		})
	}
	return out
}

// promises watches a policy from inside and notes its promises to jobs.
type promises struct {
	t       *rapid.T
	outages []simulator.Outage
	owed    map[int64]float64 // by job: the latest promised start
	broken  int
}

func (w *promises) started(p *simulator.Pool, r simulator.Ref) {
	if at, ok := w.owed[p.Job(r).ID]; ok && p.Now() > at {
		w.t.Fatalf("job %d starts at %v, promised %v", p.Job(r).ID, p.Now(), at)
	}
}

// owe notes a promise. A promise later than the one before is a delay.
func (w *promises) owe(p *simulator.Pool, r simulator.Ref, at float64) {
	id := p.Job(r).ID
	if before, ok := w.owed[id]; ok && at > before {
		w.t.Fatalf("at %v job %d is promised %v, before it was %v", p.Now(), id, at, before)
	}
	w.owed[id] = at
}

// reservation computes by definition the earliest start of a waiting job, from the running jobs' estimates.
func (w *promises) reservation(p *simulator.Pool, r simulator.Ref) float64 {
	free := func(at float64) int {
		n := p.Procs()
		for _, o := range w.outages {
			if o.From <= at && at < o.Until {
				n -= o.Procs
			}
		}
		for k := range p.Running() {
			if p.Expected(k) > at {
				n -= p.Held(k)
			}
		}
		return n
	}
	times := []float64{p.Now()}
	for k := range p.Running() {
		times = append(times, p.Expected(k))
	}
	for _, o := range w.outages {
		times = append(times, o.From, o.Until)
	}
	slices.Sort(times)
	for _, at := range times {
		fits := at >= p.Now() && free(at) >= p.Held(r)
		for _, o := range w.outages {
			fits = fits && (o.From <= at || o.From >= at+p.Estimate(r) || free(o.From) >= p.Held(r))
		}
		if fits {
			return at
		}
	}
	return math.Inf(1)
}

type watchedEASY struct {
	*simulator.EASY
	*promises
}

func (w watchedEASY) New() simulator.Policy { return watchedEASY{new(simulator.EASY), w.promises} }

func (w watchedEASY) Started(p *simulator.Pool, r simulator.Ref) {
	w.started(p, r)
	w.EASY.Started(p, r)
}

func (w watchedEASY) Schedule(p *simulator.Pool, why simulator.Cause) {
	w.EASY.Schedule(p, why)
	if head := p.First(); head != simulator.None {
		w.owe(p, head, w.reservation(p, head))
	}
}

// TestEASYNeverDelaysTheFirst proves that once a job is the first of the queue, its reservation never gets later, and
// that the job starts by that instant.
func TestEASYNeverDelaysTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		procs := rapid.IntRange(1, 40).Draw(t, "machine")
		jobs, outages := drawEstimated(t, procs), drawOutages(t, procs)
		w := &promises{t: t, outages: outages, owed: map[int64]float64{}}
		order := rapid.SampledFrom([]simulator.Order{simulator.EndsFirst, simulator.SubmitsFirst}).Draw(t, "order")
		starts(t, simulator.Config{Procs: procs, Policy: watchedEASY{nil, w}, Outages: outages, Order: order}, jobs)
	})
}

// steadyHead is EASY with a check: the first job that may start stays the first until it starts, or until a job
// submitted before it may start.
type steadyHead struct {
	*simulator.EASY
	t    *rapid.T
	head *int64
}

func (h steadyHead) New() simulator.Policy { return steadyHead{new(simulator.EASY), h.t, h.head} }

func (h steadyHead) Started(p *simulator.Pool, r simulator.Ref) {
	if p.Seq(r) <= *h.head {
		*h.head = math.MaxInt64
	}
	h.EASY.Started(p, r)
}

func (h steadyHead) Schedule(p *simulator.Pool, why simulator.Cause) {
	h.EASY.Schedule(p, why)
	r := h.Head(p)
	if r == simulator.None || p.QueueRoom(p.Queue(r)) < p.Held(r) {
		if r != simulator.None && *h.head != math.MaxInt64 {
			h.t.Fatalf("at %v the first job's queue has no room for it any more", p.Now())
		}
		return
	}
	if p.Seq(r) > *h.head {
		h.t.Fatalf("at %v the first job was held up by its own queue's limit: job %d is the first now",
			p.Now(), p.Job(r).ID)
	}
	*h.head = p.Seq(r)
}

// TestEASYLeavesTheFirstItsQueuesRoom proves that no job that overtakes the first job uses up what the first job's
// queue may hold.
func TestEASYLeavesTheFirstItsQueuesRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		procs := rapid.IntRange(4, 30).Draw(t, "machine")
		queues := []simulator.Queue{{Name: "free"}, {Name: "a", Procs: rapid.IntRange(1, procs).Draw(t, "a")},
			{Name: "b", Procs: procs / 2}}
		jobs := drawEstimated(t, procs)
		for i := range jobs {
			q := rapid.SampledFrom(queues).Draw(t, "queue")
			if jobs[i].Queue = q.Name; q.Procs > 0 {
				jobs[i].Procs = min(jobs[i].Procs, q.Procs)
			}
		}
		head := int64(math.MaxInt64)
		cfg := simulator.Config{Procs: procs, Queues: queues, Policy: steadyHead{nil, t, &head}}
		if rapid.Bool().Draw(t, "with outages") {
			cfg.Outages = drawOutages(t, procs)
		}
		starts(t, cfg, jobs)
	})
}

type watchedConservative struct {
	*simulator.Conservative
	*promises
}

func (w watchedConservative) New() simulator.Policy {
	return watchedConservative{new(simulator.Conservative), w.promises}
}

func (w watchedConservative) Submitted(p *simulator.Pool, r simulator.Ref) {
	w.Conservative.Submitted(p, r)
	w.owe(p, r, w.Promise(r))
}

func (w watchedConservative) Started(p *simulator.Pool, r simulator.Ref) {
	w.started(p, r)
	w.Conservative.Started(p, r)
}

func (w watchedConservative) Schedule(p *simulator.Pool, why simulator.Cause) {
	w.Conservative.Schedule(p, why)
	for r := p.First(); r != simulator.None; r = p.After(r) {
		w.owe(p, r, w.Promise(r))
	}
	w.broken += int(w.Broken())
}

// TestConservativeKeepsEveryPromise proves that no job's reservation ever gets later, and that every job starts by it.
func TestConservativeKeepsEveryPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		procs := rapid.IntRange(1, 40).Draw(t, "machine")
		jobs, outages := drawEstimated(t, procs), drawOutages(t, procs)
		w := &promises{t: t, outages: outages, owed: map[int64]float64{}}
		order := rapid.SampledFrom([]simulator.Order{simulator.EndsFirst, simulator.SubmitsFirst}).Draw(t, "order")
		starts(t, simulator.Config{Procs: procs, Policy: watchedConservative{nil, w}, Outages: outages, Order: order},
			jobs)
		if w.broken > 0 {
			t.Fatalf("%d promises broken", w.broken)
		}
	})
}

// TestProfileIsItsDefinition compares the step function with a table of every second.
func TestProfileIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const horizon = 60
		var p simulator.Profile
		p.Reset(0, 10)
		var table [4 * horizon]int
		for i := range table {
			table[i] = 10
		}
		second := rapid.IntRange(0, horizon)
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			from, n, procs := second.Draw(t, "from"), second.Draw(t, "for"), rapid.IntRange(-6, 6).Draw(t, "procs")
			p.Take(float64(from), float64(n), procs)
			for i := from; i < from+n; i++ {
				table[i] -= procs
			}
			steps := p.Steps()
			for i := range steps[1:] {
				if steps[i].At >= steps[i+1].At || steps[i].Free == steps[i+1].Free {
					t.Fatalf("steps out of order, or two that are one: %v", steps)
				}
			}
		}
		now, procs, n := second.Draw(t, "now"), rapid.IntRange(-5, 15).Draw(t, "asked"), second.Draw(t, "seconds")
		want := math.Inf(1)
		for at := now; at < 3*horizon-n && math.IsInf(want, 1); at++ {
			if slices.Min(table[at:at+max(1, n)]) >= procs {
				want = float64(at)
			}
		}
		if got := p.Earliest(float64(now), procs, float64(n)); got != want {
			t.Fatalf("earliest start of %d processors for %d s from %d: %v, want %v; %v", procs, n, now, got,
				want, p.Steps())
		}
		if got, want := p.Least(float64(now), float64(n)), slices.Min(table[now:now+max(1, n)]); got != want {
			t.Fatalf("least from %d for %d s: %d, want %d; %v", now, n, got, want, p.Steps())
		}
	})
}
