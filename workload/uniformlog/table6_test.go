package uniformlog_test

import (
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/predictor/headqueue"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// downey1995 are the parameters of Downey's Table 2.
func downey1995(class string) uniformlog.Model {
	switch class {
	case "sequential":
		return uniformlog.Model{B0: -.65, B1: .21}
	case "short":
		return uniformlog.Model{B0: -.30, B1: .15}
	case "long":
		return uniformlog.Model{B0: -.73, B1: .13}
	}
	return uniformlog.Model{B0: -.50, B1: .14} // medium, and the letterless standby queues
}

// Downey's Table 6: the parameters of 1995, blindly, on the Paragon's batch jobs of 1 January to 15 May 1996, scheduled strictly first come, first served
// on 368 processors (his section 6). His correlations are .56, .50 and .58 (A, B, combined); taken of logarithms, as they must be, an
// independent run on the archive's log gave .54, .52 and .56.
func TestTable6(t *testing.T) {
	jobs, laws := batch1996(t, 368)
	got := atHead(jobs, laws, 368)
	for name, want := range map[string][2]float64{headqueue.NameA: {.56, .54}, headqueue.NameB: {.50, .52}, headqueue.NameCombined: {.58, .56}} {
		t.Logf("%s: %.3f of %d, paper %.2f, independent %.2f", name, got[name].r, got[name].n, want[0], want[1])
		near(t, name+" against the paper", got[name].r, want[0], .05)
		near(t, name+" against the independent run", got[name].r, want[1], .01)
	}
}

// batch1996 returns the jobs as strict first come, first served starts them, and their laws by ID.
func batch1996(t *testing.T, procs int) ([]simulator.Job, map[int64]headqueue.Lifetime) {
	t.Helper()
	f, err := swf.Open(refdata.Shared(t, "traces/SDSC-Par-1996-3.1-cln.swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := f.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	since := func(month time.Month, day int) float64 {
		return time.Date(1996, month, day, 0, 0, 0, 0, f.Header().Location()).Sub(f.Header().Start()).Seconds()
	}
	from, to := since(time.January, 1), since(time.May, 16)
	sim, err := simulator.New(simulator.Config{Procs: procs})
	if err != nil {
		t.Fatal(err)
	}
	laws := map[int64]headqueue.Lifetime{}
	var r swf.Record
	for f.Next(&r) == nil {
		submit := float64(r.Submit)
		const batch = 2
		if r.Runtime <= 0 || r.Allocated < 1 || int(r.Allocated) > procs || submit < from || submit >= to || r.Partition != batch {
			continue
		}
		id := int64(len(laws))
		laws[id] = downey1995(paragonClass(f.Header().QueueName(&r), r.Allocated))
		if err := sim.Submit(simulator.Job{ID: id, Submit: submit, Procs: int(r.Allocated), Runtime: float64(r.Runtime)}); err != nil {
			t.Fatal(err)
		}
	}
	var jobs []simulator.Job
	if err := sim.Advance(math.Inf(1), func(e simulator.Event) {
		if e.Kind == simulator.Started {
			jobs = append(jobs, *e.Job)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return jobs, laws
}

type correlation struct {
	r float64
	n int
}

// atHead forecasts every job that waits at the head of the queue, and correlates the logarithms of forecast and wait by method.
func atHead(jobs []simulator.Job, laws map[int64]headqueue.Lifetime, procs int) map[string]correlation {
	logs := map[string][2][]float64{}
	var calc headqueue.Calc
	var running []simulator.Job
	for i := 1; i < len(jobs); i++ {
		running = append(running, jobs[i-1])
		head := max(jobs[i].Submit, jobs[i-1].Start)
		state := headqueue.State{Capacity: procs, Free: procs}
		kept := running[:0]
		for _, r := range running {
			if r.End > head {
				kept = append(kept, r)
				state.Free -= r.Procs
				state.Running = append(state.Running, headqueue.Holder{Procs: r.Procs, Age: head - r.Start, Law: laws[r.ID]})
			}
		}
		running = kept
		wait := jobs[i].Start - head
		if wait <= 0 {
			continue
		}
		result, err := calc.Forecast(&state, jobs[i].Procs, []float64{.5}, nil)
		if err != nil {
			continue
		}
		for _, m := range result.Medians {
			if m.Cannot == nil && !math.IsInf(m.Seconds, 1) {
				pair := logs[m.Name]
				logs[m.Name] = [2][]float64{append(pair[0], math.Log(max(1, m.Seconds))), append(pair[1], math.Log(wait))}
			}
		}
	}
	out := map[string]correlation{}
	for name, pair := range logs {
		out[name] = correlation{stat.Correlation(pair[0], pair[1], nil), len(pair[0])}
	}
	return out
}
