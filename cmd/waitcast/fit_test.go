package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/cmd/waitcast/offline"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/lifetime"
)

func closeTo(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v within %v", what, got, want, tolerance)
	}
}

func fitJSON(t *testing.T, stdin string, args ...string) (offline.Fitted, string) {
	t.Helper()
	text := succeed(t, stdin, append([]string{"fit", "--json", "--seed", "1"}, args...)...).stdout
	var f offline.Fitted
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	return f, text
}

// near compares a fitted model with the parameters from which its jobs were drawn, by the distributions of jobs that
// both describe. The tolerances are several standard errors for the tests' numbers of jobs, and allow for times in
// whole seconds.
func near(t *testing.T, fit *offline.LublinFit, want hypergamma.Params) {
	t.Helper()
	got := fit.Params
	closeTo(t, "share of serial jobs", got.Size.Serial, want.Size.Serial, .015)
	for _, procs := range []int{2, 4, 8, 16, 32} {
		closeTo(t, "share of small jobs", got.Size.CDF(procs), want.Size.CDF(procs), .02)
	}
	for _, procs := range []int{1, 8, 32} {
		g, w := got.Runtime.Law(procs), want.Runtime.Law(procs)
		for _, x := range []float64{2, 4, 6, 8, 10} {
			closeTo(t, "share of short jobs", g.CDF(x), w.CDF(x), .03)
		}
	}
	closeTo(t, "shape of the daily cycle", got.Arrival.Daily.Shape, want.Arrival.Daily.Shape,
		.08*want.Arrival.Daily.Shape)
	closeTo(t, "mean of the daily cycle", got.Arrival.Daily.Mean(), want.Arrival.Daily.Mean(),
		.02*want.Arrival.Daily.Mean())
	for i, weight := range want.Arrival.Weights() {
		closeTo(t, "share of a half hour", fit.Fit.Arrival.HalfHours[i], weight/hypergamma.Slots, .006)
	}
}

// TestGenerateAndFitAgain proves that the model fitted to generated jobs is near the model from which they were drawn.
// The first round starts from the paper's parameters, the second one from the first fit, which is read from a file.
func TestGenerateAndFitAgain(t *testing.T) {
	set, err := hypergamma.Named("lublin99", 64)
	if err != nil {
		t.Fatal(err)
	}
	// The generator is used without the drifting clock and the caps of the original program.
	set[0].Arrival.WholeSeconds = false
	params, err := json.Marshal(set[0])
	if err != nil {
		t.Fatal(err)
	}
	first := succeed(t, string(params), "generate", "--params", "-", "--jobs", "100000", "--seed", "1")
	f, text := fitJSON(t, first.stdout, "-", "--model", "lublin")
	if f.Jobs != 100000 || f.MaxProcs != 64 || f.Lublin == nil || f.Markov != nil || f.UniformLog != nil {
		t.Fatalf("fit of %d jobs on %d processors: %+v", f.Jobs, f.MaxProcs, f)
	}
	near(t, f.Lublin, set[0])
	second := succeed(t, "", "generate", "--params", save(t, "p.json", text), "--jobs", "100000", "--seed", "2")
	g, _ := fitJSON(t, second.stdout, "-", "--model", "lublin")
	near(t, g.Lublin, f.Lublin.Params)
	third := succeed(t, first.stdout, "generate", "--from", "-", "--jobs", "100000", "--seed", "2")
	_, one := read(t, second.stdout)
	_, other := read(t, third.stdout)
	for i := range one {
		if one[i] != other[i] {
			t.Fatalf("job %d: %+v by --params, %+v by --from", i, one[i], other[i])
		}
	}
}

// TestFitSaysWhatIsMissing proves that a fit of all models names each model that cannot be fitted, with the reason, and
// still fits the others.
func TestFitSaysWhatIsMissing(t *testing.T) {
	const job = " -1 10 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n" // all jobs are alike
	text := "1 0" + job + "2 60" + job + "3 120" + job
	f, _ := fitJSON(t, text, "-")
	if f.Markov == nil || f.Markov.Chains.Jobs != 3 || f.Lublin != nil || f.UniformLog != nil {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(f.Missing["lublin"], "at least 50 needed") ||
		!strings.Contains(f.Missing["uniformlog"], "at least 10 needed") {
		t.Errorf("missing: %v", f.Missing)
	}
	if r := succeed(t, text, "fit", "-"); !strings.Contains(r.stdout, "Not fitted") ||
		strings.Contains(r.stdout, "NaN") {
		t.Errorf("%s", r.stdout)
	}
}

// TestFitClean proves that --clean leaves out a flurry: 600 jobs of one user within an hour, among 1 or 2 jobs an hour.
func TestFitClean(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(inhabited(t)), "\n")
	flurry := make([]string, 600)
	for i := range flurry {
		flurry[i] = strings.Replace("900001 SUBMIT 0 77 1 -1 -1 1 100 -1 1 999 3 4 1 1 -1 -1", "SUBMIT", "5000000", 1)
	}
	text := strings.Join(append(lines, flurry...), "\n") + "\n"
	dirty, _ := fitJSON(t, text, "-", "--model", "markov")
	cleaned, _ := fitJSON(t, text, "-", "--model", "markov", "--clean")
	if got := cleaned.LeftOut["in a flurry"]; got != 600 ||
		dirty.Jobs-cleaned.Jobs != 600+cleaned.LeftOut["of a daily robot"] {
		t.Errorf("%d jobs in a flurry, want 600; %d jobs with it, %d without", got, dirty.Jobs, cleaned.Jobs)
	}
}

// TestFitKTH checks the fit to KTH against the figures of independent fits that the design lists: p1 0.346, p2 0.598,
// the runtime law 4.90 0.906 70.4 0.1276 p 0.600 with D 0.043.
func TestFitKTH(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	f, _ := fitJSON(t, "", refdata.Shared(t, "traces/KTH-SP2-1996-2.1-cln.swf.gz"), "--status", "1")
	l := f.Lublin.Fit
	closeTo(t, "p1", l.Size.Params.Serial, .346, .001)
	closeTo(t, "p2", l.Size.Params.PowerOfTwo, .598, .001)
	closeTo(t, "alpha1", l.Runtime.First.Shape, 4.90, .005)
	closeTo(t, "beta1", l.Runtime.First.Scale, .906, .0005)
	closeTo(t, "alpha2", l.Runtime.Second.Shape, 70.4, .05)
	closeTo(t, "beta2", l.Runtime.Second.Scale, .1276, .0001)
	closeTo(t, "p", l.Runtime.P, .600, .0005)
	closeTo(t, "D", f.Lublin.Runtime.KS, .043, .002)
	if f.Lublin.Runtime.ChiClasses != offline.ChiClasses || f.Lublin.Runtime.Chi2Signif > .05 {
		t.Errorf("chi2 %+v: 20,000 jobs of a real log should not pass", f.Lublin.Runtime)
	}
}

// TestFitParagonClasses checks b0, b1 and R2 of Downey's classes of SDSC-Par-1996 against the figures of an independent
// fit. Groups are formed by the last letters of queues' names. One-processor jobs are a separate class, except those of
// interactive and standby.
func TestFitParagonClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("short: no whole trace")
	}
	f, _ := fitJSON(t, "", refdata.Shared(t, "traces/SDSC-Par-1996-3.1-cln.swf.gz"), "--model", "uniformlog",
		"--group", "short=*s", "--group", "medium=*m", "--group", "long=*l", "--sequential", "--sequential-keep",
		"interactive,standby")
	want := map[string][3]float64{
		"short": {-.569, .222, .971}, "long": {-.408, .103, .728}, "interactive": {-.082, .193, .948},
		"sequential": {-.608, .137, .940},
	}
	found := 0
	for _, q := range f.UniformLog {
		if w, ok := want[q.Queue]; ok {
			found++
			closeTo(t, q.Queue+": b0", q.Law.B0, w[0], .01)
			closeTo(t, q.Queue+": b1", q.Law.B1, w[1], .01)
			closeTo(t, q.Queue+": R2", q.Law.R2, w[2], .01)
		}
	}
	if found != len(want) {
		t.Errorf("%d of the classes in %+v", found, f.UniformLog)
	}
}

// TestGrouping proves that each queue belongs to the first group that matches, and that sequential jobs are separate
// unless they are kept in their group.
func TestGrouping(t *testing.T) {
	plain, letters := offline.Grouping{},
		offline.Grouping{Groups: []string{"short=q*s", "rest=q*"}, Sequential: true, Keep: []string{"night", "rest"}}
	for _, g := range []*offline.Grouping{&plain, &letters} {
		if err := g.Parse(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		queue         string
		procs         int64
		plain, letter string
	}{
		{"q4s", 4, "q4s", "short"}, {"q4s", 1, "q4s", "sequential"}, {"q4m", 4, "q4m", "rest"},
		{"q4m", 1, "q4m", "rest"}, {"night", 1, "night", "night"}, {"day", 1, "day", "sequential"},
		{"day", 2, "day", "day"},
	} {
		if got := plain.Class(c.queue, c.procs); got != c.plain {
			t.Errorf("%s, %d processors: %s without groups", c.queue, c.procs, got)
		}
		if got := letters.Class(c.queue, c.procs); got != c.letter {
			t.Errorf("%s, %d processors: %s, want %s", c.queue, c.procs, got, c.letter)
		}
	}
	for problem, args := range map[string][]string{
		"want NAME=PATTERN":    {"--group", "short"},
		"is not a pattern":     {"--group", "short=[s"},
		"goes with --sequenti": {"--sequential-keep", "night"},
	} {
		if r := runOn("", append([]string{"fit", "-"}, args...)...); r.code != exitUsage ||
			!strings.Contains(r.stderr, problem) {
			t.Errorf("%v: code %d, %s", args, r.code, r.stderr)
		}
	}
}

// TestFitLifetimes proves that for jobs with lognormal runtimes the laws that can follow such runtimes have better
// out-of-sample scores than the uniform-log law. The command prints every law's score and the choice. For a class of
// few jobs it prints that there are too few.
func TestFitLifetimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	for i := range 1500 {
		queue, runtime := 1, 1+int(math.Exp(7+.5*rng.NormFloat64()))
		if i < 20 {
			queue = 2
		}
		fmt.Fprintf(&text, "%d %d 5 %d 4 -1 -1 4 36000 -1 1 1 1 1 %d 1 -1 -1\n", i+1, 100*i, runtime, queue)
	}
	f, _ := fitJSON(t, text.String(), "-", "--model", "lifetime")
	if len(f.Lifetimes) != 2 || f.Lublin != nil {
		t.Fatalf("%+v", f)
	}
	many, few := f.Lifetimes[0], f.Lifetimes[1]
	if many.Chosen == "" || many.Chosen != many.Laws[0].Name || many.Chosen == lifetime.NameUniformLog ||
		len(many.Laws) != 4 || many.Limit != 36000 || many.Jobs != 1480 {
		t.Errorf("%+v", many)
	}
	for i, law := range many.Laws {
		if law.N < 1000 || i > 0 && law.Mean > many.Laws[i-1].Mean {
			t.Errorf("law %d: %+v", i, law)
		}
	}
	closeTo(t, "median", many.Median, math.Exp(7), .1*math.Exp(7))
	if few.Chosen != "" || !strings.Contains(few.Missing, "20 jobs") {
		t.Errorf("%+v", few)
	}
	if r := succeed(t, text.String(), "fit", "-", "--model", "lifetime", "--seed", "1"); !strings.Contains(r.stdout,
		"  1  ") || !strings.Contains(r.stdout, "uniform_log_at_limit: -") {
		t.Errorf("%s", r.stdout)
	}
}
