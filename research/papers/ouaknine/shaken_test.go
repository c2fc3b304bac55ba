package ouaknine_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/research/papers/ouaknine"
	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// readSDSC reads the jobs of SDSC-SP2 that ran; see [ouaknine.Jobs].
func readSDSC(t testing.TB, asGiven bool) ([]users.Job, int) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: no simulations")
	}
	f, err := swf.Open(refdata.Shared(t, "traces/SDSC-SP2-1998-4.2-cln.swf.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var records []swf.Record
	var r swf.Record
	for err = f.Next(&r); err == nil; err = f.Next(&r) {
		records = append(records, r)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return ouaknine.Jobs(records, asGiven), int(f.Header().MaxProcs)
}

func slowdown(r ouaknine.Means) float64 { return r.Slowdown }
func wait(r ouaknine.Means) float64     { return r.Wait }

func column(results []ouaknine.Means, f func(ouaknine.Means) float64) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = f(r)
	}
	return out
}

func single(t testing.TB, jobs []users.Job, procs int) ouaknine.Means {
	t.Helper()
	r, err := ouaknine.Simulate(jobs, procs)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func shaken(t testing.TB, jobs []users.Job, procs, runs int, cfg shake.Config) []ouaknine.Means {
	t.Helper()
	s, err := shake.New(jobs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	results, err := shake.Runs(context.Background(), s, runs, 1, func(_ int, jobs []users.Job) (ouaknine.Means, error) {
		return ouaknine.Simulate(jobs, procs)
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// long reports whether the test makes the full number of runs.
func long() bool { return os.Getenv("WAITCAST_LONG") != "" }

// TestShakingRemovesAccidents repeats sections 6.1 and 6.2 of the thesis. Single runs change if one job is cut by 30 s,
// and if jobs that were submitted at one instant come in the reverse order. The means of shaken runs hardly change:
// within .3 % for the cut job (all jobs are shaken by up to 60 s) and .7 % for the order (by up to 5 minutes). The
// changes of single runs depend on how the log is read. With estimates as given the results vary so much (4 %) that the
// means of 100 runs cannot be that near; there they agree within three standard errors. The short form has few runs and
// wider bounds.
func TestShakingRemovesAccidents(t *testing.T) {
	runs, forTruncation, forOrder := 10, .01, .025
	if long() {
		runs, forTruncation, forOrder = shake.DefaultRuns, .003, .007
	}
	for _, asGiven := range []bool{false, true} {
		if asGiven && !long() {
			break
		}
		jobs, procs := readSDSC(t, asGiven)
		truncated, err := ouaknine.Truncated(jobs)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			jobs   []users.Job
			degree float64
			bound  float64
			paper  string
		}{
			{"30 s", truncated, 60, forTruncation, "8.3 % single, .3 % shaken"},
			{"order", ouaknine.Reversed(jobs), 300, forOrder, "6.7 % single, .47 % shaken"},
		} {
			one, other := single(t, jobs, procs), single(t, c.jobs, procs)
			cfg := shake.Config{Attribute: shake.Interarrival, Degree: c.degree, Fraction: 1}
			a, sa := stat.MeanStdDev(column(shaken(t, jobs, procs, runs, cfg), slowdown), nil)
			b, sb := stat.MeanStdDev(column(shaken(t, c.jobs, procs, runs, cfg), slowdown), nil)
			if asGiven {
				c.bound = 3 * math.Hypot(sa, sb) / math.Sqrt(float64(runs)) / a
			}
			t.Logf("%s, estimates as given %v, %d runs: single %.3f and %.3f (%+.3f %%), shaken means %.3f and %.3f "+
				"(%+.3f %%); thesis: %s",
				c.name, asGiven, runs, one.Slowdown, other.Slowdown, 100*(other.Slowdown/one.Slowdown-1), a, b,
				100*(b/a-1), c.paper)
			if math.Abs(b/a-1) > c.bound {
				t.Errorf("%s: mean bounded slowdowns %v and %v of %d shaken runs differ by more than %v", c.name, a, b,
					runs, c.bound)
			}
		}
	}
}

// TestLittleShakingStaysNear repeats the ranges of section 5.1 (98-105 % with 1 % of the jobs, 96-112 % with 10 %),
// with some slack because the version of the log differs: every run's mean bounded slowdown is within 95-108 % and
// 94-115 % of the unshaken one.
func TestLittleShakingStaysNear(t *testing.T) {
	runs := 10
	if long() {
		runs = 60
	}
	jobs, procs := readSDSC(t, false)
	original := single(t, jobs, procs).Slowdown
	var spans []float64
	for _, c := range []struct{ fraction, low, high float64 }{{.01, .95, 1.08}, {.1, .94, 1.15}} {
		cfg := shake.Default()
		cfg.Fraction = c.fraction
		x := column(shaken(t, jobs, procs, runs, cfg), slowdown)
		s, err := shake.Summarize(original, x)
		if err != nil {
			t.Fatal(err)
		}
		low, high := slices.Min(x)/original, slices.Max(x)/original
		t.Logf("%v of the jobs: %.3f to %.3f, mean %.3f of the unshaken; span %.3f, concentration %.2f", c.fraction,
			low, high, s.Mean/original, s.Span, s.Concentration)
		if low < c.low || high > c.high {
			t.Errorf("%v of the jobs: results from %.3f to %.3f of the unshaken, want %v to %v", c.fraction, low, high,
				c.low, c.high)
		}
		spans = append(spans, s.Span)
	}
	if long() && spans[0] >= spans[1] {
		t.Errorf("shaking a tenth of the jobs spans %v, a hundredth %v", spans[1], spans[0])
	}
}

// TestAllAttributes reports span, distance and concentration for all four attributes, and for sessions and users. It
// proves that shaking has an effect. Fewer results stay within 1 % if all jobs are shaken than if a hundredth is.
// Shaking a tenth of the jobs leaves the mean within a tenth. (The thesis shows surfaces without numbers. Absolute
// shaking of all runtimes moves the bounded slowdown by half, because it turns the shortest jobs into other ones.)
func TestAllAttributes(t *testing.T) {
	if !long() {
		t.Skip("set WAITCAST_LONG=1")
	}
	jobs, procs := readSDSC(t, false)
	original := single(t, jobs, procs)
	for _, c := range []shake.Config{
		{Attribute: shake.Interarrival, Degree: 60}, {Attribute: shake.Runtime, Degree: 60},
		{Attribute: shake.Estimate, Degree: 60}, {Attribute: shake.Size, Degree: 1, MaxProcs: procs},
		{Attribute: shake.Interarrival, Degree: 60, Relative: .1}, {Attribute: shake.Runtime, Degree: 60, Relative: .1},
		{Attribute: shake.Size, Degree: 5, Relative: .1, MaxProcs: procs},
		{Attribute: shake.Interarrival, Degree: 60, Level: shake.Sessions},
		{Attribute: shake.Interarrival, Degree: 60, Level: shake.Users},
	} {
		concentration := map[string]float64{}
		for _, fraction := range []float64{.01, .1, 1} {
			c.Fraction, c.Level = fraction, max(c.Level, shake.Jobs)
			results := shaken(t, jobs, procs, 60, c)
			for what, f := range map[string]func(ouaknine.Means) float64{"bounded slowdown": slowdown, "wait": wait} {
				s, err := shake.Summarize(f(original), column(results, f))
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%v of %v, %v/%v, %v of them, %s: span %.1f %%, distance %+.1f %%, concentration %.0f %%",
					c.Attribute, c.Level, c.Degree, c.Relative, fraction, what, 100*s.Span, 100*s.Distance,
					100*s.Concentration)
				if s.Span <= 0 || fraction < 1 && math.Abs(s.Distance) > .1 {
					t.Errorf("%+v, %s: %+v", c, what, s)
				}
				if fraction == .01 {
					concentration[what] = s.Concentration
				}
				if fraction == 1 && s.Concentration >= concentration[what] {
					t.Errorf("%+v, %s: concentration %v, with a hundredth of the jobs %v", c, what, s.Concentration,
						concentration[what])
				}
			}
		}
	}
}
