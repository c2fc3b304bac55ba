package study_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/simulator"
	"github.com/waitcast/waitcast/simulator/study"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// generated returns a trace of n jobs on 32 processors, busy enough for queues.
func generated(n int, seed uint64) *swfload.Trace {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := &swfload.Trace{Procs: 32}
	at := 0.0
	for i := range n {
		at += float64(rng.IntN(400))
		runtime := float64(1 + rng.IntN(2000))
		limit := runtime + float64(rng.IntN(4000))
		t.Jobs = append(t.Jobs, simulator.Job{
			ID: int64(i + 1), User: rng.Int64N(7), Submit: at, Procs: 1 + rng.IntN(16), Runtime: runtime, Limit: limit,
			Estimate: limit,
		})
	}
	return t
}

// small returns a grid of 2 x 2 x (1 + 2 x 2) = 20 cells.
func small() study.Grid {
	return study.Grid{
		Policies: []string{"easy", "conservative"}, Loads: []float64{0, .8}, Seeds: []uint64{3, 9}, Shakes: 2,
		Shake: shake.Default(),
	}
}

func plan(t testing.TB, g study.Grid, trace *swfload.Trace) *study.Plan {
	t.Helper()
	p, err := study.NewPlan(g, trace)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run returns the rows and the file of a whole run.
func run(t testing.TB, p *study.Plan, o study.Options) ([]study.Row, string) {
	t.Helper()
	rows, err := p.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return rows, read(t, o.Out)
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheFileIsTheSameWhateverTheWorkers proves that the file does not depend on the number of workers, and has the
// rows in the order of the grid.
func TestTheFileIsTheSameWhateverTheWorkers(t *testing.T) {
	p := plan(t, small(), generated(300, 1))
	rows, one := run(t, p, study.Options{Out: filepath.Join(t.TempDir(), "1.csv"), Workers: 1})
	_, many := run(t, p, study.Options{Out: filepath.Join(t.TempDir(), "7.csv"), Workers: 7})
	if d := cmp.Diff(one, many); d != "" {
		t.Errorf("(-1 worker +7):\n%s", d)
	}
	lines, err := csv.NewReader(bytes.NewReader([]byte(one))).ReadAll()
	if err != nil || len(lines) != 21 || len(rows) != 20 {
		t.Fatalf("%d lines, %d rows, %v", len(lines), len(rows), err)
	}
	for i, r := range rows {
		if r.Index != i || lines[i+1][0] != p.ID() || lines[i+1][1] != fmt.Sprint(i) {
			t.Errorf("row %d is %+v, line %q", i, r.Cell, lines[i+1])
		}
	}
}

// TestAKilledRunGoesOn proves that a run that was killed at any moment can be continued. Whatever part of the file is
// left, even a torn line, the final file is the same, and only missing cells are run.
func TestAKilledRunGoesOn(t *testing.T) {
	g := small()
	g.Loads = nil
	p := plan(t, g, generated(60, 2))
	out := filepath.Join(t.TempDir(), "out.csv")
	_, whole := run(t, p, study.Options{Out: out})
	for cut := 0; cut < len(whole); cut += 13 {
		write(t, out, whole[:cut])
		kept := max(0, bytes.Count([]byte(whole[:cut]), []byte("\n"))-1)
		first := -1
		_, again := run(t, p, study.Options{Out: out, Done: func(done, of int) {
			if first < 0 {
				first = done
			}
			if of != 10 {
				t.Errorf("of %d", of)
			}
		}})
		if again != whole || first != kept {
			t.Fatalf("cut at %d: %d runs were kept, want %d; the file is the same: %v", cut, first, kept,
				again == whole)
		}
	}
}

// TestAnInterruptedRunGoesOn proves that the end of the context leaves a file from which a run can continue.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	p := plan(t, small(), generated(200, 3))
	out := filepath.Join(t.TempDir(), "out.csv")
	ctx, stop := context.WithCancel(context.Background())
	_, err := p.Run(ctx, study.Options{Out: out, Workers: 2, Done: func(done, _ int) {
		if done == 5 {
			stop()
		}
	}})
	var interrupted *study.InterruptedError
	if !errors.As(err, &interrupted) || !errors.Is(err, context.Canceled) || interrupted.Done < 5 ||
		interrupted.Done > 8 || interrupted.Of != 20 {
		t.Fatalf("%v", err)
	}
	if lines := bytes.Count([]byte(read(t, out)), []byte("\n")); lines != interrupted.Done+1 {
		t.Errorf("%d lines, but %d runs are said to be done", lines, interrupted.Done)
	}
	_, again := run(t, p, study.Options{Out: out})
	if _, whole := run(t, p, study.Options{Out: filepath.Join(t.TempDir(), "whole.csv")}); again != whole {
		t.Error("the file differs from that of a run without interruption")
	}
}

// TestOtherFilesAreRefused proves that results of another grid or trace, and files that are no results, are refused and
// left unchanged.
func TestOtherFilesAreRefused(t *testing.T) {
	trace := generated(60, 4)
	out := filepath.Join(t.TempDir(), "out.csv")
	_, whole := run(t, plan(t, small(), trace), study.Options{Out: out})
	otherGrid := small()
	otherGrid.Shake.Degree = 61
	otherTrace := generated(60, 4)
	otherTrace.Jobs[59].Runtime++
	for name, p := range map[string]*study.Plan{
		"grid": plan(t, otherGrid, trace), "trace": plan(t, small(), otherTrace),
	} {
		var other *study.OtherStudyError
		if _, err := p.Run(context.Background(), study.Options{Out: out}); !errors.As(err, &other) ||
			other.Path != out || read(t, out) != whole {
			t.Errorf("another %s: %v", name, err)
		}
	}
	bad := map[string]int{ // each with the line that the message must name
		"notes of mine": 1, whole[:40] + "\n": 1, whole + "1,2\n": 22, whole + "nonsense\n": 22,
	}
	for text, line := range bad {
		write(t, out, text)
		var none *study.NotResultsError
		if _, err := plan(t, small(), trace).Run(context.Background(), study.Options{Out: out}); !errors.As(err,
			&none) || none.Line != line || read(t, out) != text {
			t.Errorf("%.20q...: %v", text, err)
		}
	}
}

// TestPartsAreTheWhole proves that the parts of a study together have each of its rows once.
func TestPartsAreTheWhole(t *testing.T) {
	p := plan(t, small(), generated(60, 5))
	whole, _ := run(t, p, study.Options{Out: filepath.Join(t.TempDir(), "out.csv")})
	got := make([]study.Row, len(whole))
	n := 0
	for k := range 3 {
		rows, _ := run(t, p,
			study.Options{Out: filepath.Join(t.TempDir(), "out.csv"), Part: study.Part{Index: k, Of: 3}})
		for _, r := range rows {
			got[r.Index] = r
			n++
		}
	}
	if d := cmp.Diff(whole, got); d != "" || n != len(whole) {
		t.Errorf("%d rows (-whole +parts):\n%s", n, d)
	}
	if _, err := p.Run(context.Background(),
		study.Options{Out: filepath.Join(t.TempDir(), "x"), Part: study.Part{Index: 3, Of: 3}}); err == nil {
		t.Error("part 3 of 3 (from 0) was taken")
	}
}

// TestRowsAreTheExperiments proves that a shaken row is the simulation of the workload that shake.Runs makes from the
// same seed, and that shake 0 is the trace itself.
func TestRowsAreTheExperiments(t *testing.T) {
	trace := generated(300, 6)
	g := small()
	rows, _ := run(t, plan(t, g, trace), study.Options{Out: filepath.Join(t.TempDir(), "out.csv")})
	jobs := make([]users.Job, len(trace.Jobs))
	for i, j := range trace.Jobs {
		jobs[i] = users.Job{Index: i, User: j.User, Procs: j.Procs, Submit: j.Submit, Runtime: j.Runtime,
			Estimate: j.Limit}
	}
	shaker, err := shake.New(jobs, g.Shake)
	if err != nil {
		t.Fatal(err)
	}
	e := study.Experiment{Policy: "conservative", Load: .8}
	waits, err := shake.Runs(context.Background(), shaker, 2, 9, func(_ int, jobs []users.Job) (float64, error) {
		shaken := &swfload.Trace{Procs: trace.Procs}
		for _, j := range jobs {
			shaken.Jobs = append(shaken.Jobs, simulator.Job{
				User: j.User, Submit: j.Submit, Procs: j.Procs, Runtime: j.Runtime, Limit: j.Estimate,
				Estimate: j.Estimate,
			})
		}
		r, err := e.Simulate(shaken)
		if err != nil {
			return 0, err
		}
		return r.All.Wait.Mean, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	itself, err := e.Simulate(trace)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]float64{}
	for _, r := range rows {
		if r.Policy == "conservative" && r.Load == .8 && (r.Shake == 0 || r.Seed == 9) {
			got[r.Shake] = r.MeanWait
			if r.Offered < .79 || r.Offered > .81 {
				t.Errorf("asked for load .8, offered %v", r.Offered)
			}
		}
	}
	if d := cmp.Diff(map[int]float64{0: itself.All.Wait.Mean, 1: waits[0], 2: waits[1]}, got); d != "" {
		t.Errorf("mean waits by shake (-want +got):\n%s", d)
	}
	if waits[0] == waits[1] || waits[0] == itself.All.Wait.Mean {
		t.Errorf("shaking changed nothing: %v, %v, %v", itself.All.Wait.Mean, waits[0], waits[1])
	}
}

// TestEveryAttributeIsShaken proves that every attribute can be shaken, and that each changes results.
func TestEveryAttributeIsShaken(t *testing.T) {
	trace := generated(300, 7)
	for attribute := shake.Interarrival; attribute <= shake.Size; attribute++ {
		g := small()
		g.Shake = shake.Config{Attribute: attribute, Degree: 8, Fraction: .5}
		if attribute != shake.Size {
			g.Shake.Degree = 1000
		}
		rows, _ := run(t, plan(t, g, trace), study.Options{Out: filepath.Join(t.TempDir(), "out.csv")})
		if rows[0].MeanWait == rows[1].MeanWait || rows[1].MeanWait == rows[2].MeanWait {
			t.Errorf("%v: mean waits %v, %v, %v", attribute, rows[0].MeanWait, rows[1].MeanWait, rows[2].MeanWait)
		}
	}
}

func TestGridsThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(*study.Grid){
		"policy":    func(g *study.Grid) { g.Policies = []string{"easy", "lottery"} },
		"estimates": func(g *study.Grid) { g.Estimates = []string{"guess"} },
		"load":      func(g *study.Grid) { g.Loads = []float64{.5, .5} },
		"shakes":    func(g *study.Grid) { g.Shakes = -1 },
		"seeds":     func(g *study.Grid) { g.Shakes = 0 },
		"warm-up":   func(g *study.Grid) { g.WarmUp = 1 },
		"grid":      func(g *study.Grid) { g.Shakes = 1e6 },
	} {
		g := small()
		change(&g)
		var option *study.OptionError
		if _, err := study.NewPlan(g, generated(3, 1)); !errors.As(err, &option) || option.Name != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	g := small()
	g.Shake.Fraction = 2
	if _, err := study.NewPlan(g, generated(3, 1)); err == nil {
		t.Error("a fraction of 2 was taken")
	}
}

// TestGroups checks the groups by hand: original 100, shaken 90, 100.5, 130.
func TestGroups(t *testing.T) {
	row := func(policy string, n int, wait float64) study.Row {
		return study.Row{Cell: study.Cell{Policy: policy, Shake: n}, MeanWait: wait, Bounded: 1}
	}
	got := study.Groups([]study.Row{row("easy", 0, 100), row("easy", 1, 90), row("easy", 2, 100.5), row("easy", 3, 130),
		row("fcfs", 0, 0), row("fcfs", 1, 3)})
	if len(got) != 2 || got[0].Policy != "easy" || got[1].Policy != "fcfs" || got[1].Shaken.Wait != nil {
		t.Fatalf("%+v", got)
	}
	s := got[0].Shaken.Wait
	near := func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 }
	if s.Runs != 3 || !near(s.Span, .4) || !near(s.Distance, .205/3) || !near(s.Concentration, 1./3) {
		t.Errorf("%+v", s)
	}
}

// BenchmarkCTCByLoad runs the study behind the thesis' figures: CTC under EASY, loads 0.5 to 0.95 by 0.01. One
// operation is all 46 runs.
func BenchmarkCTCByLoad(b *testing.B) {
	trace, err := swfload.Open(refdata.Shared(b, "traces/CTC-SP2-1996-3.1-cln.swf.gz"), swfload.Options{})
	if err != nil {
		b.Fatal(err)
	}
	g := study.Grid{Policies: []string{"easy"}}
	for i := range 46 {
		g.Loads = append(g.Loads, float64(50+i)/100)
	}
	p := plan(b, g, trace)
	for i := 0; b.Loop(); i++ {
		run(b, p, study.Options{Out: filepath.Join(b.TempDir(), fmt.Sprint(i, ".csv"))})
	}
	b.ReportMetric(float64(46*len(trace.Jobs)*b.N)/b.Elapsed().Seconds(), "jobs/s")
}

// FuzzResults proves that any file is either refused and left unchanged, or continued to a file that gives the same
// rows when it is read again.
func FuzzResults(f *testing.F) {
	g := small()
	g.Loads, g.Shakes, g.Seeds = nil, 0, nil
	p := plan(f, g, generated(5, 8))
	_, whole := run(f, p, study.Options{Out: filepath.Join(f.TempDir(), "out.csv")})
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Add(whole + "\"")
	f.Add(whole + "\"\n") // an error before the line's first field
	f.Fuzz(func(t *testing.T, text string) {
		out := filepath.Join(t.TempDir(), "out.csv")
		write(t, out, text)
		if _, err := p.Run(context.Background(), study.Options{Out: out, Workers: 1}); err != nil {
			if read(t, out) != text {
				t.Errorf("refused, but changed: %v", err)
			}
			return
		}
		written := read(t, out)
		if _, again := run(t, p, study.Options{Out: out, Workers: 1}); again != written {
			t.Errorf("first:\n%s\nagain:\n%s", written, again)
		}
	})
}
