package api_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// backlogged returns a server on a busy cluster. Live jobs with forecasts wait there, which were submitted 100 s apart.
func backlogged(t *testing.T) *fixture {
	t.Helper()
	f := serve(t, main(10))
	begin := f.history("main", "work")
	for i := range 12 {
		o := one{id: fmt.Sprint("w", i), queue: "work", procs: []int{8, 7, 9}[i%3], submit: begin + 100*float64(i),
			start: -1, end: -1}
		if i == 0 {
			o.procs, o.start = 10, o.submit // the job uses the whole machine
		}
		events := o.events("main")
		for k := range events {
			events[k].Live = true
		}
		f.feed("main", events...)
	}
	f.tick("main", "work", begin+3600)
	return f
}

// fact is one forecast with its final outcome. leave is the end of the job's wait, zero while the job waits. late means
// that the forecast was replayed.
type fact struct {
	queue         string
	procs         int
	submit, leave time.Time
	started, late bool
	quantiles     []float64
}

// facts returns the facts of the fixture's rows, and of the waiting jobs in its picture.
func (f *fixture) facts() []fact {
	var out []fact
	for i := range f.rows {
		r := &f.rows[i]
		out = append(out, fact{r.Queue, r.Procs, r.Submit, r.Submit.Add(time.Duration(r.WaitSeconds * 1e9)),
			r.Outcome == modelstore.Started, r.Replayed, r.Quantiles})
	}
	for _, w := range f.pipeline.View("main").OpenForecasts {
		out = append(out, fact{queue: w.Queue, procs: w.Procs, submit: w.Submit, late: w.Replayed,
			quantiles: w.Quantiles})
	}
	return out
}

// count counts the outcomes of a level job by job, as they are defined: by whether a job waits at the instant, has
// started or was cancelled by then, and whether submit + quantile has passed. past is the number of jobs that have
// waited for longer than their quantile. left is the number of jobs that were cancelled after longer than their
// quantile.
func count(facts []fact, level int, since, asOf time.Time) (o wire.Outcomes, past, left int64) {
	for _, f := range facts {
		if f.submit.Before(since) || f.submit.After(asOf) {
			continue
		}
		q := f.quantiles[level]
		if q == waittime.Never {
			q = 365 * 86400
		}
		waits := f.leave.IsZero() || f.leave.After(asOf)
		wait := f.leave.Sub(f.submit).Seconds()
		switch due := !f.submit.Add(time.Duration(math.Ceil(q) * 1e9)).After(asOf); {
		case !due && waits:
			o.Undecided++
		case !due:
			o.Early++
		case !waits && wait <= math.Ceil(q) && f.started:
			o.UpTo++
			if wait < math.Floor(q) {
				o.Below++
			}
		case !waits && wait <= math.Ceil(q):
			o.Censored++
			o.LeftUndecided++
		default:
			o.Missed++
			if waits {
				past++
			} else if !f.started {
				left++
			}
		}
	}
	o.Decided = o.UpTo + o.Missed + o.Censored
	return o, past, left
}

// TestCoverageCountsEverybody proves that every group of the answer counts all submissions as of an instant, with every
// outcome. The counts equal those over the full list of jobs, at random instants, and for all queues together.
func TestCoverageCountsEverybody(t *testing.T) {
	f := backlogged(t)
	v := f.pipeline.View("main")
	if len(v.OpenForecasts) < 10 {
		t.Fatalf("%d jobs wait with a forecast, want more", len(v.OpenForecasts))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	f.rows = nil
	for range 400 {
		f.rows = append(f.rows, randomRow(rng, v.At))
	}
	facts, seen := f.facts(), wire.Outcomes{}
	for range 20 {
		since, asOf := v.At.Add(-time.Duration(rng.IntN(8000))*time.Second), v.At
		query := "since=" + since.UTC().Format(time.RFC3339Nano)
		if rng.IntN(3) > 0 {
			asOf = since.Add(time.Duration(rng.IntN(8000)) * time.Second)
			query += "&until=" + asOf.UTC().Format(time.RFC3339Nano)
			if asOf.After(v.At) {
				asOf = v.At
			}
		}
		var got wire.Accuracy
		f.get("/v1/accuracy?limit=10000&"+query, &got)
		for i := range got.Groups {
			g := &got.Groups[i]
			mine := selected(facts, g)
			for l, level := range waittime.Levels() {
				name := ask.LevelName(level)
				want, past, left := count(mine, l, since, asOf)
				if d := cmp.Diff(want, g.Methods[0].Outcomes[name]); d != "" {
					t.Fatalf("%s %s/%s/%s level %s (-want +got): %s", query, g.Made, g.Queue, g.SizeClass, name, d)
				}
				if g.WaitingPast[name] != past || g.KnownMisses[name] != past+left {
					t.Fatalf("%s level %s: %d of %d waiting are past it, %d known misses, want %d and %d", query, name,
						g.WaitingPast[name], g.Waiting, g.KnownMisses[name], past, past+left)
				}
				checkShares(t, want, g.Methods[0].Unweighted[name], g.Methods[0].Coverage[name])
				seen.UpTo += want.UpTo
				seen.Missed += past
				seen.Censored += want.Censored
			}
		}
	}
	if seen.UpTo == 0 || seen.Missed == 0 || seen.Censored == 0 {
		t.Errorf("not every kind was seen: %+v", seen)
	}
}

// randomRow returns a ledger row of a job of the last two hours.
func randomRow(rng *rand.Rand, newest time.Time) modelstore.Row {
	submit := newest.Add(-time.Duration(rng.IntN(7200)) * time.Second)
	r := modelstore.Row{
		Queue: []string{"work", "other"}[rng.IntN(2)], Procs: []int{1, 4, 20}[rng.IntN(3)], Submit: submit,
		Replayed: rng.IntN(3) == 0, Outcome: modelstore.Started, Levels: waittime.Levels(),
		WaitSeconds: math.Min(math.Floor(600*rng.ExpFloat64()*float64(rng.IntN(3))), newest.Sub(submit).Seconds()),
	}
	q := 0.
	for range r.Levels {
		q += 300 * rng.ExpFloat64() * float64(rng.IntN(2))
		r.Quantiles = append(r.Quantiles, q)
	}
	if rng.IntN(20) == 0 {
		r.Quantiles[5] = waittime.Never
	}
	if rng.IntN(4) == 0 {
		r.Outcome = modelstore.Cancelled
	} else {
		r.Start = submit.Add(time.Duration(r.WaitSeconds) * time.Second)
	}
	return r
}

// selected returns the facts of a group.
func selected(facts []fact, g *wire.AccuracyGroup) []fact {
	var out []fact
	for _, f := range facts {
		if (g.Made == "replayed") == f.late && (g.Queue == "" || g.Queue == f.queue) &&
			(g.SizeClass == "" || g.SizeClass == waittime.SizeClass(f.procs)) {
			out = append(out, f)
		}
	}
	return out
}

// checkShares checks the shares of an answer: the unweighted ones follow the definition, and the weighted ones equal
// them if no job was cancelled.
func checkShares(t *testing.T, o wire.Outcomes, plain, weighted [2]float64) {
	t.Helper()
	known := float64(o.UpTo + o.Missed)
	want := [2]float64{}
	if known > 0 {
		want = [2]float64{float64(o.Below) / known, float64(o.UpTo) / known}
	}
	if plain != want {
		t.Fatalf("unweighted shares of %+v are %v, want %v", o, plain, want)
	}
	for i := range weighted {
		if o.Censored == 0 && math.Abs(weighted[i]-plain[i]) > 1e-12 || !(weighted[i] >= 0 && weighted[i] <= 1) {
			t.Fatalf("weighted shares of %+v are %v, unweighted %v", o, weighted, plain)
		}
	}
}

// TestWaitingPastItsQuantileIsAKnownMiss proves that a job counts as a miss as soon as it has waited for longer than
// its quantile, even if it still waits.
func TestWaitingPastItsQuantileIsAKnownMiss(t *testing.T) {
	f := backlogged(t)
	f.rows = nil
	v := f.pipeline.View("main")
	longest := 0.
	for _, w := range v.OpenForecasts {
		if longest = max(longest, w.Quantiles[5]); w.Quantiles[5] == waittime.Never {
			longest = waittime.ScoredNever
		}
	}
	f.tick("main", "work", v.At.Sub(at(0)).Seconds()+longest+1)
	var got wire.Accuracy
	f.get("/v1/accuracy?made=live&queue=work&since=2026-01-01", &got)
	g := got.Groups[0]
	waiting := int64(len(v.OpenForecasts))
	if g.Waiting != waiting || g.WaitingPast["0.95"] != waiting || g.KnownMisses["0.95"] != waiting {
		t.Errorf("%d wait, %d of them past .95, %d known misses; want %d each", g.Waiting, g.WaitingPast["0.95"],
			g.KnownMisses["0.95"], waiting)
	}
	m := g.Methods[0]
	if m.N != 0 || m.Outcomes["0.95"].Missed != waiting || m.Coverage["0.95"] != [2]float64{0, 0} {
		t.Errorf("nobody has started, and .95 covered %v: %+v", m.Coverage["0.95"], m.Outcomes["0.95"])
	}
}
