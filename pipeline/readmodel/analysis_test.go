package readmodel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/pipeline/eventtest"
	"github.com/waitcast/waitcast/pipeline/livemodels"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/workload/clean"
)

// busy returns a view after about a year with 12 users who submit in working hours, one daily robot and one flurry, all
// in one queue.
func busy(t testing.TB) *View {
	t.Helper()
	l := newFolded(t, livemodels.Config{MinSamples: 30, HistoryJobs: 100_000})
	rng := rand.New(rand.NewPCG(9, 9))
	id := 0
	one := func(user string, submit float64) {
		id++
		l.take(submitted(id, user, submit, 1+rng.IntN(2)*rng.IntN(32)))
		for i, kind := range []job.Kind{job.Start, job.End} {
			ev := event(kind, fmt.Sprint(id), submit+1+float64(i)*math.Floor(math.Exp(4+2*rng.NormFloat64())))
			l.take(ev)
		}
	}
	for day := range 350 {
		morning := float64(day)*86400 + 9*3600
		one("robot", morning-6*3600)
		for i := range 12 {
			one(fmt.Sprint("user", i), morning+float64(i)*3000+600*rng.Float64())
		}
		if day == 200 {
			for i := range 400 {
				one("flurry", morning+40_000+float64(i))
			}
		}
	}
	return l.view()
}

// submitted returns the submission of a job to the queue "q" at a second of the tests' time.
func submitted(id int, user string, second float64, procs int) job.Event {
	ev := eventtest.Sized(event(job.Submit, fmt.Sprint(id), second), procs)
	ev.Queue, ev.User = "q", user
	return ev
}

// TestAnalyze proves that Analyze finds the users, the sessions, the robot and the flurry of the view that busy
// returns.
func TestAnalyze(t *testing.T) {
	v := busy(t)
	a, growth := v.Analyze("q"), v.Growth("q")
	if a.NoPools != "" || a.NoFindings != "" || len(a.Pools.LongTerm) != 13 || a.Jobs != 350*13+400 || a.NeverRan != 0 {
		t.Fatalf("%+v", a)
	}
	robots, flurries := 0, 0
	for _, f := range a.Findings {
		if f.Reason == clean.Robot && f.Days == 350 {
			robots++
		}
		if f.Reason == clean.Flurry && f.Jobs == 400 {
			flurries++
		}
	}
	if robots < 1 || flurries != 1 || growth.Grew() || growth.Weeks < 48 {
		t.Errorf("%d robots, %d flurries, growth %+v: %v", robots, flurries, growth, a.Findings)
	}
	if empty := busy(t).Analyze("other"); empty.NoPools == "" || empty.Jobs != 0 {
		t.Errorf("a queue without jobs: %+v", empty)
	}
}

// TestSynthetic proves that every model draws jobs that are possible, in order of submission. The same seed gives the
// same jobs, and another seed gives other jobs.
func TestSynthetic(t *testing.T) {
	v := busy(t)
	for _, queue := range []string{"q", ""} {
		for _, model := range SyntheticModels() {
			first, again := drawn500(t, v, model, queue, 1), drawn500(t, v, model, queue, 1)
			other := drawn500(t, v, model, queue, 2)
			if d := cmp.Diff(first, again); d != "" {
				t.Errorf("%s: one seed, two workloads: %s", model, d)
			}
			if cmp.Equal(first, other) {
				t.Errorf("%s: two seeds, one workload", model)
			}
			last := 0.0
			for _, j := range first {
				if j.Submit < last || j.Procs < 1 || j.Procs > 128 || !(j.Runtime >= 0) || math.IsInf(j.Runtime, 1) {
					t.Fatalf("%s: job %+v after %v s", model, j, last)
				}
				last = j.Submit
				if (j.User > 0) != (model == ModelUsers) {
					t.Fatalf("%s: user %d", model, j.User)
				}
			}
			// The view has 13 jobs a day, and a flurry of 400 within 50 weeks.
			if days := last / 86400; model != ModelUsers && (days < 10 || days > 120) {
				t.Errorf("%s: 500 jobs within %.0f days", model, days)
			}
		}
	}
}

func drawn500(t *testing.T, v *View, model, queue string, seed uint64) []SyntheticJob {
	t.Helper()
	s, err := v.Synthetic(model, queue, seed)
	if err != nil {
		t.Fatalf("%s: %v", model, err)
	}
	if !s.Start.After(v.At.Add(-time.Second)) {
		t.Errorf("%s begins %s, before %s", model, s.Start, v.At)
	}
	var out []SyntheticJob
	for range 500 {
		j, ok := s.Next()
		if !ok {
			t.Fatalf("%s ends after %d jobs", model, len(out))
		}
		out = append(out, j)
	}
	return out
}

// TestSyntheticSaysWhatIsMissing proves that with too few jobs, or without users, the error says what the model needs.
func TestSyntheticSaysWhatIsMissing(t *testing.T) {
	l := newFolded(t, livemodels.Config{MinSamples: 30, HistoryJobs: 100})
	for i := range 12 {
		ev := submitted(i, "", float64(i)*60, 2)
		l.take(ev)
		if i == 11 {
			break // one job waits
		}
		for k, kind := range []job.Kind{job.Start, job.End} {
			l.take(event(kind, fmt.Sprint(i), float64(i)*60+1+float64(k)))
		}
	}
	v := l.view()
	for model, want := range map[string]string{
		ModelLublin: "at least 50 needed", ModelMarkov: "at least 50 needed", ModelUniformLog: "at least 50 needed",
		ModelUsers: "does not tell users apart",
	} {
		_, err := v.Synthetic(model, "q", 1)
		var missing *NotFittedError
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), want) || missing.Model != model {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
	if _, err := v.Synthetic("other", "q", 1); err == nil {
		t.Error("a model that there is not")
	}
	if _, err := v.Synthetic(ModelLublin, "nowhere", 1); err == nil {
		t.Error("a queue that there is not")
	}
}

// TestNeverRanIsNeverARuntime proves that a job that left the queue without a start counts as such in the history, and
// that no model uses it as a lifetime, a size or a runtime.
func TestNeverRanIsNeverARuntime(t *testing.T) {
	l := newFolded(t, livemodels.Config{MinSamples: 30, HistoryJobs: 100})
	for i := range 30 {
		l.take(submitted(i, "u", float64(i)*60, 2))
		l.take(event(job.Cancel, fmt.Sprint(i), float64(i)*60+30))
	}
	v := l.view()
	a := v.Analyze("q")
	if a.Jobs != 30 || a.NeverRan != 30 || a.Pools != nil || !strings.Contains(a.NoPools, "30 jobs without a runtime") {
		t.Errorf("%+v", a)
	}
	q := v.Models.Queue("q")
	if c := q.Lifetimes[1].Selection; c.Seen != 0 || q.Chains.Jobs != 0 || q.Lifetimes[1].Sample.N() != 0 {
		t.Errorf("%d lifetimes, %d in the chains", c.Seen, q.Chains.Jobs)
	}
	fit := v.LublinOf("q")
	if !strings.Contains(fit.NoSizes, "fit of 0 sizes") || !strings.Contains(fit.NoRuntimes, "fit of 0 runtimes") {
		t.Errorf("%q, %q", fit.NoSizes, fit.NoRuntimes)
	}
}
