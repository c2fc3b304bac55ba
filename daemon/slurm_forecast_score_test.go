package daemon_test

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
)

// outcome is a job of the load, with its forecasts and its true wait.
type outcome struct {
	planned
	seed               uint64
	number             int // index in the load of its seed, from 0
	id                 string
	asked              time.Time
	submit, start, end time.Time
	priority           int64     // priority at the submission
	testOnly           time.Time // the start predicted by sbatch --test-only just before; zero if there is none
	squeue             estimate  // the first prediction of squeue --start; zero if there is none
	// served and replayed are quantiles in seconds at the levels of a backtest: those in the daemon's ledger, and those
	// of the predictor alone with the same data.
	served, replayed []float64
	// late is true if the ledger's quantiles were computed after the fact, because the job had started before a
	// snapshot reported its size.
	late bool
}

func (o *outcome) wait() float64 { return o.start.Sub(o.submit).Seconds() }

// pick returns the quantiles at a backtest's levels.
func pick(levels, quantiles []float64) []float64 {
	var out []float64
	for _, level := range waittime.ScoredLevels() {
		if i := slices.Index(levels, level); i >= 0 {
			out = append(out, quantiles[i])
		}
	}
	return out
}

// figures are the compared values of one set of jobs. Errors are median absolute errors in seconds.
type figures struct {
	jobs, asked       int // asked: number of jobs for which squeue --start gave a prediction
	late              int
	wait              float64
	testOnly, squeue  float64
	waitcast, onAsked float64 // errors of Waitcast on all jobs, and on the jobs counted in asked
	covered           float64 // share of waits that are at most the 0.9 quantile
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// off returns the error of a predicted start in seconds. Slurm's clock has whole seconds.
func off(foretold, start time.Time) float64 {
	return math.Abs(foretold.Sub(start.Truncate(time.Second)).Seconds())
}

// score compares the forecasts that the function quantiles selects with the true waits. A job without a forecast has an
// infinite error.
func score(all []outcome, quantiles func(*outcome) []float64) figures {
	var f figures
	var wait, testOnly, squeue, waitcast, onAsked []float64
	covered := 0
	for i := range all {
		o := &all[i]
		if o.number < learntFrom {
			continue
		}
		wait = append(wait, o.wait())
		if o.late {
			f.late++
		}
		wrong := math.Inf(1)
		if q := quantiles(o); len(q) == len(waittime.ScoredLevels()) {
			wrong = math.Abs(q[0] - o.wait())
			if o.wait() <= q[2] {
				covered++
			}
		}
		waitcast = append(waitcast, wrong)
		if !o.testOnly.IsZero() {
			testOnly = append(testOnly, off(o.testOnly, o.start))
		}
		if !o.squeue.start.IsZero() {
			squeue, onAsked = append(squeue, off(o.squeue.start, o.start)), append(onAsked, wrong)
		}
	}
	f.jobs, f.asked, f.covered = len(wait), len(squeue), float64(covered)/float64(max(1, len(wait)))
	f.wait, f.testOnly, f.squeue, f.waitcast, f.onAsked = median(wait), median(testOnly), median(squeue),
		median(waitcast),
		median(onAsked)
	return f
}

func (f figures) String() string {
	return fmt.Sprintf("%d jobs (%d told late), median wait %.1f s; off by, in the median: --test-only %.1f s, "+
		"waitcast %.1f s (1/%.2f); "+
		"on the %d of which squeue --start spoke: it %.1f s, waitcast %.1f s (1/%.2f); .9 covers %.3f",
		f.jobs, f.late, f.wait, f.testOnly, f.waitcast, f.testOnly/f.waitcast, f.asked, f.squeue, f.onAsked,
		f.squeue/f.onAsked, f.covered)
}

// judge prints the figures of every seed, and checks the figures of all seeds together.
func judge(t *testing.T, all []outcome) {
	t.Helper()
	slices.SortFunc(all, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.seed, b.seed),
			cmp.Compare(a.number, b.number))
	})
	served := func(o *outcome) []float64 { return o.served }
	replayed := func(o *outcome) []float64 { return o.replayed }
	for seed := range uint64(forecastSeeds) {
		own := slices.DeleteFunc(slices.Clone(all), func(o outcome) bool { return o.seed != seed+1 })
		if len(own) == 0 { // only some of the seeds were selected
			continue
		}
		t.Logf("seed %d, served: %s", seed+1, score(own, served))
		t.Logf("seed %d, replayed: %s", seed+1, score(own, replayed))
	}
	for _, c := range []struct {
		name string
		f    figures
	}{{"served", score(all, served)}, {"replayed", score(all, replayed)}} {
		t.Logf("all, %s: %s", c.name, c.f)
		if !(c.f.waitcast <= ofTestOnly*c.f.testOnly) {
			t.Errorf("%s: off by %.1f s in the median, want at most a third of --test-only's %.1f s", c.name,
				c.f.waitcast,
				c.f.testOnly)
		}
		if !(c.f.onAsked <= ofSqueue*c.f.squeue) {
			t.Errorf("%s: off by %.1f s in the median, want at most a sixth of squeue --start's %.1f s", c.name,
				c.f.onAsked,
				c.f.squeue)
		}
		if !(c.f.covered >= leastCovered && c.f.covered <= mostCovered) {
			t.Errorf("%s: the .9 quantile covers %.3f, want %.2f to %.2f", c.name, c.f.covered, leastCovered,
				mostCovered)
		}
	}
	if f := score(all, served); !(f.wait >= 10) {
		t.Errorf("a median wait of %.1f s is no queueing", f.wait)
	}
}

// save writes a row for every job if WAITCAST_OUT names a folder.
func save(t *testing.T, name string, all []outcome) {
	t.Helper()
	dir := os.Getenv("WAITCAST_OUT")
	if dir == "" {
		return
	}
	header := []string{
		"seed", "number", "job", "user", "queue", "nodes", "procs", "limit_seconds", "runtime_seconds", "asked",
		"submit",
		"start", "end", "priority",
		"test_only_start", "squeue_asked", "squeue_start", "late",
	}
	for _, from := range []string{"served", "replayed"} {
		for _, level := range waittime.ScoredLevels() {
			header = append(header, fmt.Sprintf("%s_p%g", from, 100*level))
		}
	}
	unix := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)
	}
	rows := [][]string{header}
	for i := range all {
		o := &all[i]
		row := []string{
			fmt.Sprint(o.seed), fmt.Sprint(o.number), o.id, o.user, o.queue, fmt.Sprint(o.nodes), fmt.Sprint(o.cpus),
			fmt.Sprint(60 * o.minutes), fmt.Sprintf("%.2f", o.run),
			unix(o.asked), unix(o.submit), unix(o.start), unix(o.end), fmt.Sprint(o.priority), unix(o.testOnly),
			unix(o.squeue.asked), unix(o.squeue.start), fmt.Sprint(o.late),
		}
		for _, q := range [][]float64{o.served, o.replayed} {
			for k := range waittime.ScoredLevels() {
				text := ""
				if k < len(q) {
					text = fmt.Sprintf("%.3f", q[k])
				}
				row = append(row, text)
			}
		}
		rows = append(rows, row)
	}
	f, err := os.Create(filepath.Join(dir, name)) //nolint:gosec // whoever runs the test names it
	if err != nil {
		t.Fatal(err)
	}
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
