package daemon_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/simulator"
)

// machine is the size of the simulated cluster of these tests, in processors.
const machine = 64

// epoch is instant 0 of simulated workloads.
func epoch() time.Time { return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC) }

// record is one line of an accounting log, with its line end.
type record struct {
	at   time.Time
	text string
}

// workload returns the accounting log of a simulated first-come-first-served cluster. It has jobs in three queues. Some
// are deleted while they wait, and some are rerun. A few lines cannot be parsed, are repeated, or are about unknown
// jobs.
func workload(t testing.TB, seed uint64, jobs int) []record {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	sim, err := simulator.New(simulator.Config{Procs: machine})
	if err != nil {
		t.Fatal(err)
	}
	var log []record
	now := 0.0
	for id := int64(1); id <= int64(jobs); id++ {
		now += math.Ceil(rng.ExpFloat64() * 60)
		j := simulator.Job{
			ID: id, Submit: now, Procs: 1 << rng.IntN(5), Queue: []string{"short", "medium", "long"}[rng.IntN(3)],
			Runtime: math.Ceil(math.Exp(5 + 1.3*rng.NormFloat64())), User: rng.Int64N(9),
		}
		j.Estimate = math.Ceil(j.Runtime/600) * 1200
		if rng.IntN(30) == 0 { // deleted while it waits: the simulator never sees it
			rec := recordOf(&j)
			rec.End = instant(now + math.Ceil(rng.ExpFloat64()*300))
			log = append(log, record{rec.Queued, string(pbs.AppendQueued(nil, rec))},
				record{rec.End, string(pbs.AppendDeleted(nil, rec))})
			continue
		}
		if err := sim.Submit(j); err != nil {
			t.Fatal(err)
		}
	}
	if err := sim.Advance(math.Inf(1), func(e simulator.Event) { log = append(log, told(e)...) }); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(log, func(a, b record) int { return a.at.Compare(b.at) })
	return blemish(log, rng)
}

func instant(seconds float64) time.Time { return epoch().Add(time.Duration(seconds) * time.Second) }

func recordOf(j *simulator.Job) pbs.Record {
	submit := instant(j.Submit)
	return pbs.Record{
		ID: fmt.Sprintf("%d.test", j.ID), User: fmt.Sprintf("secretuser%d", j.User), Group: "users", Name: "job",
		Queue:   j.Queue,
		Created: submit, Queued: submit, Eligible: submit, Procs: j.Procs, Nodes: j.Procs,
		TimeLimit: time.Duration(j.Estimate) * time.Second,
	}
}

// told returns the lines for one event. Every 40th long job is rerun after a third of its time.
func told(e simulator.Event) []record {
	rec := recordOf(e.Job)
	switch e.Kind {
	case simulator.Submitted:
		return []record{{rec.Queued, string(pbs.AppendQueued(nil, rec))}}
	case simulator.Started:
		rec.Start = instant(e.Time)
		return []record{{rec.Start, string(pbs.AppendStarted(nil, rec))}}
	}
	var out []record
	rec.Start, rec.End = instant(e.Job.Start), instant(e.Time)
	if e.Job.ID%40 == 0 && e.Job.Runtime > 30 {
		again := rec.Start.Add(time.Duration(e.Job.Runtime/3) * time.Second)
		rerun := fmt.Sprintf("%s;R;%s;\n", again.Format("01/02/2006 15:04:05"), rec.ID)
		rec.Start = again.Add(time.Second)
		out = append(out, record{again, rerun}, record{rec.Start, string(pbs.AppendStarted(nil, rec))})
	}
	return append(out, record{rec.End, string(pbs.AppendEnded(nil, rec))})
}

// blemish inserts bad, repeated and unknown records between the good ones.
func blemish(log []record, rng *rand.Rand) []record {
	var out []record
	for i, r := range log {
		out = append(out, r)
		switch rng.IntN(150) {
		case 0:
			out = append(out, record{r.at, fmt.Sprintf("this is no record %d\n", i)})
		case 1:
			out = append(out, record{r.at, log[rng.IntN(i+1)].text})
		case 2:
			out = append(out, record{r.at, fmt.Sprintf("%s;D;9%d.test;requestor=x@test\n",
				r.at.Format("01/02/2006 15:04:05"),
				i)})
		}
	}
	return out
}

func text(log []record) string {
	var b strings.Builder
	for _, r := range log {
		b.WriteString(r.text)
	}
	return b.String()
}
