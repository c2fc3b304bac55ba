package simulator_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/swfload"
)

// bookish is EASY by its textbook definition, without any data structure.
type bookish struct {
	now     float64
	free    int
	queue   []int
	running []int // by start
	jobs    []simulator.Job
	starts  []float64
}

func (b *bookish) pass() {
	for len(b.queue) > 0 && b.jobs[b.queue[0]].Procs <= b.free {
		b.start(0)
	}
	if len(b.queue) == 0 {
		return
	}
	head := b.jobs[b.queue[0]]
	ends := slices.Clone(b.running)
	expect := func(i int) float64 { return b.starts[i] + b.jobs[i].Estimate }
	slices.SortFunc(ends, func(x, y int) int { return int(expect(x) - expect(y)) })
	shadow, extra := 0.0, b.free
	for _, i := range ends {
		if extra >= head.Procs && expect(i) > shadow {
			break
		}
		extra += b.jobs[i].Procs
		shadow = expect(i)
	}
	extra -= head.Procs
	for k := 1; k < len(b.queue); {
		j := b.jobs[b.queue[k]]
		long := b.now+j.Estimate > shadow
		if j.Procs > b.free || long && j.Procs > extra {
			k++
			continue
		}
		b.start(k)
		if long {
			extra -= j.Procs
		}
	}
}

func (b *bookish) start(k int) {
	i := b.queue[k]
	b.queue = slices.Delete(b.queue, k, k+1)
	b.starts[i] = b.now
	b.free -= b.jobs[i].Procs
	b.running = append(b.running, i)
}

// due returns the running jobs that end now, in order of their starts.
func (b *bookish) due() (out []int) {
	for _, i := range b.running {
		if b.starts[i]+b.jobs[i].Runtime <= b.now {
			out = append(out, i)
		}
	}
	return out
}

func (b *bookish) leave(i int) {
	b.free += b.jobs[i].Procs
	b.running = slices.DeleteFunc(b.running, func(k int) bool { return k == i })
}

func easyByTheBook(procs int, jobs []simulator.Job, order simulator.Order) []float64 {
	b := &bookish{free: procs, jobs: jobs, starts: make([]float64, len(jobs))}
	for next := 0; next < len(jobs) || len(b.running) > 0; {
		b.now = math.Inf(1)
		if next < len(jobs) {
			b.now = jobs[next].Submit
		}
		for _, i := range b.running {
			b.now = min(b.now, b.starts[i]+jobs[i].Runtime)
		}
		due := b.due()
		for _, i := range due {
			if order == simulator.EndsFirst || jobs[i].Runtime == jobs[i].Estimate {
				b.leave(i)
			}
		}
		for ; next < len(jobs) && jobs[next].Submit == b.now; next++ {
			b.queue = append(b.queue, next)
			if order == simulator.SubmitsFirst {
				b.pass()
			}
		}
		for _, i := range due {
			if order == simulator.SubmitsFirst {
				if jobs[i].Runtime < jobs[i].Estimate {
					b.leave(i)
				}
				b.pass()
			}
		}
		b.pass()
	}
	return b.starts
}

// TestEASYIsThatOfTheBooks compares the simulator with bookish, which looks at every job at every event.
func TestEASYIsThatOfTheBooks(t *testing.T) {
	for _, order := range []simulator.Order{simulator.EndsFirst, simulator.SubmitsFirst} {
		t.Run(fmt.Sprint("order ", order), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				procs := rapid.IntRange(1, 40).Draw(t, "machine")
				jobs := drawEstimated(t, procs)
				got := starts(t, simulator.Config{Procs: procs, Policy: new(simulator.EASY), Order: order}, jobs)
				if d := diff.Diff(easyByTheBook(procs, jobs, order), got); d != "" {
					t.Fatalf("starts (-book +simulator):\n%s", d)
				}
			})
		})
	}
}

// TestEASYIsThatOfTheBooksInALongQueue compares the simulator with bookish while hundreds of jobs run and wait, so that
// no data structure is small.
func TestEASYIsThatOfTheBooksInALongQueue(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 5))
		const procs = 3000
		jobs := make([]simulator.Job, 1500)
		for i := range jobs {
			jobs[i] = simulator.Job{
				ID: int64(i), Submit: float64(i / 100), Runtime: float64(1 + rng.IntN(300)),
				Procs: 1 + int(math.Exp2(9*math.Pow(rng.Float64(), 3))),
			}
			jobs[i].Estimate = jobs[i].Runtime * float64(1+rng.IntN(4))
		}
		for _, order := range []simulator.Order{simulator.EndsFirst, simulator.SubmitsFirst} {
			got := make([]float64, len(jobs))
			s := machine(t, simulator.Config{Procs: procs, Policy: new(simulator.EASY), Order: order,
				Arrivals: simulator.FromSlice(jobs)})
			mostRun, mostWait := 0, 0
			if err := s.Advance(math.Inf(1), func(e simulator.Event) {
				if e.Kind == simulator.Started {
					got[e.Job.ID] = e.Time
				}
				mostRun, mostWait = max(mostRun, s.Running()), max(mostWait, s.Queued())
			}); err != nil {
				t.Fatal(err)
			}
			if mostRun < 150 || mostWait < 500 {
				t.Fatalf("at most %d running and %d waiting: too few to prove anything", mostRun, mostWait)
			}
			if d := diff.Diff(easyByTheBook(procs, jobs, order), got); d != "" {
				t.Fatalf("seed %d, order %d: starts (-book +simulator):\n%s", seed, order, d)
			}
		}
	}
}

// TestEASYIsThatOfTheBooksOnRealLogs compares the simulator with bookish on logs on which pyss was not run.
func TestEASYIsThatOfTheBooksOnRealLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("looks at every job at every event of two logs; left out by -short")
	}
	for _, name := range []string{"SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln"} {
		log := load(t, name, swfload.Pyss)
		for i := range log.Jobs {
			log.Jobs[i].ID = int64(i)
		}
		for _, order := range []simulator.Order{simulator.EndsFirst, simulator.SubmitsFirst} {
			s := machine(t, simulator.Config{
				Procs: log.Procs, Policy: new(simulator.EASY), Order: order, Arrivals: simulator.FromSlice(log.Jobs),
			})
			got := make([]float64, len(log.Jobs))
			if err := s.Advance(math.Inf(1), func(e simulator.Event) { got[e.Job.ID] = e.Job.Start }); err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i, at := range easyByTheBook(log.Procs, log.Jobs, order) {
				if got[i] != at {
					wrong++
				}
			}
			if wrong > 0 {
				t.Errorf("%s, order %d: %d of %d jobs start at other instants", name, order, wrong, len(got))
			}
		}
	}
}

// planner is conservative backfill as reference/README.md describes it, in the order SubmitsFirst, without any data
// structure.
type planner struct {
	procs  int
	now    float64
	jobs   []simulator.Job
	known  []int     // submitted, in order
	start  []float64 // by job: its reservation, or its start once that is not in the future
	until  []float64 // by job: its planned end
	number []int     // by job: the number of its reservation
	made   int
}

// free returns the processors that the plan leaves to job i at an instant.
func (b *planner) free(i int, at float64) int {
	n := b.procs
	for _, k := range b.known {
		if k != i && b.start[k] <= at && at < b.until[k] {
			n -= b.jobs[k].Procs
		}
	}
	return n
}

func (b *planner) earliest(i int) float64 {
	times := []float64{b.now}
	for _, k := range b.known {
		if k != i && b.until[k] > b.now {
			times = append(times, b.until[k])
		}
	}
	slices.Sort(times)
	for _, at := range times {
		fits := b.free(i, at) >= b.jobs[i].Procs
		for _, k := range b.known {
			if k != i && b.start[k] > at && b.start[k] < at+b.jobs[i].Estimate {
				fits = fits && b.free(i, b.start[k]) >= b.jobs[i].Procs
			}
		}
		if fits {
			return at
		}
	}
	return math.Inf(1)
}

func (b *planner) reserve(i int, at float64) {
	b.made++
	b.start[i], b.until[i], b.number[i] = at, at+b.jobs[i].Estimate, b.made
}

// ending returns the jobs that end now, in order of their starts, and the instant of the next event.
func (b *planner) ending() (due []int, next float64) {
	next = math.Inf(1)
	for _, i := range b.known {
		end := b.start[i] + b.jobs[i].Runtime
		if end == b.now {
			due = append(due, i)
		}
		for _, at := range []float64{b.start[i], end} {
			if at > b.now {
				next = min(next, at)
			}
		}
	}
	slices.SortFunc(due, func(x, y int) int {
		return cmp.Or(cmp.Compare(b.start[x], b.start[y]), cmp.Compare(b.number[x], b.number[y]))
	})
	return due, next
}

func conservativeByTheBook(procs int, jobs []simulator.Job) []float64 {
	n := len(jobs)
	b := &planner{procs: procs, jobs: jobs, start: make([]float64, n), until: make([]float64, n),
		number: make([]int, n), now: -1}
	for next := 0; ; {
		_, at := b.ending()
		if next < n {
			at = min(at, jobs[next].Submit)
		}
		if math.IsInf(at, 1) {
			return b.start
		}
		b.now = at
		due, _ := b.ending()
		for ; next < n && jobs[next].Submit == b.now; next++ {
			b.known = append(b.known, next)
			b.reserve(next, b.earliest(next))
		}
		for _, i := range due {
			b.until[i] = b.now
			for _, k := range b.known {
				if b.start[k] > b.now {
					if at := b.earliest(k); at < b.start[k] {
						b.reserve(k, at)
					}
				}
			}
		}
	}
}

// TestConservativeIsThatOfTheReference compares the simulator with one that looks at every job at every instant.
func TestConservativeIsThatOfTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		procs := rapid.IntRange(1, 40).Draw(t, "machine")
		jobs := drawEstimated(t, procs)
		got := starts(t,
			simulator.Config{Procs: procs, Policy: new(simulator.Conservative), Order: simulator.SubmitsFirst}, jobs)
		if d := diff.Diff(conservativeByTheBook(procs, jobs), got); d != "" {
			t.Fatalf("starts (-reference +simulator):\n%s", d)
		}
	})
}
