package liveload

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
)

// load is a recorded run: the load of one seed.
type load struct {
	dir   string
	cases []Case
	ids   []string  // Slurm's numbers of the jobs of cases
	last  time.Time // time of the last submission
	end   time.Time // end of the last job
	// binding is true for a binding load.
	binding bool
}

func readLoad(dir string) (*load, error) {
	records, fates, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, logFile)) //nolint:gosec // whoever runs this names it
	if err != nil {
		return nil, err
	}
	logged, err := parseLog(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	l := &load{dir: dir}
	if l.cases, err = cases(records, fates, logged); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	for i := range records {
		if id := records[i].ID; id != "" {
			l.ids = append(l.ids, id)
			l.last = latest(l.last, fates[id].Submit)
			l.end = latest(l.end, fates[id].End)
		}
	}
	return l, l.readBinding(records)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Report evaluates the answers that were recorded in the folders of runs, and prints figures of each run and of all
// runs together.
func Report(w io.Writer, dirs []string) error {
	loads, err := readLoads(dirs)
	if err != nil {
		return err
	}
	report(w, loads)
	return nil
}

func readLoads(dirs []string) ([]*load, error) {
	var loads []*load
	for _, dir := range dirs {
		l, err := readLoad(dir)
		if err != nil {
			return nil, err
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// These are the targets. leastSeedP90 is for the worst seed, the others are for all seeds together.
const (
	leastP90, leastP95, leastSeedP90 = .87, .92, .82
	mostBelowMedian, leastUpToMedian = .58, .42
	mostOfTestOnly                   = .25
)

func report(w io.Writer, loads []*load) {
	head(w)
	var all []Case
	worst := math.Inf(1)
	for _, l := range loads {
		f := Judge(l.cases)
		line(w, filepath.Base(l.dir), &f)
		worst = min(worst, f.UpTo[slices.Index(waittime.Levels(), .9)])
		all = append(all, l.cases...)
	}
	part := func(name string, keep func(*Case) bool) Figures {
		f := Judge(slices.DeleteFunc(slices.Clone(all), func(c Case) bool { return !keep(&c) }))
		line(w, name, &f)
		return f
	}
	half := len(all) / max(1, len(loads)) / 2
	pooled := part("pooled", func(*Case) bool { return true })
	part("  1st half", func(c *Case) bool { return c.Number < half })
	part("  2nd half", func(c *Case) bool { return c.Number >= half })
	part("  from 31st", func(c *Case) bool { return c.Number >= 30 })
	for _, queue := range []string{"short", "medium", "long"} {
		part("  "+queue, func(c *Case) bool { return c.Queue == queue })
	}
	byLog := slices.Clone(all)
	for i := range byLog {
		byLog[i].Wait = byLog[i].LogWait
	}
	byLog = slices.DeleteFunc(byLog, func(c Case) bool { return math.IsNaN(c.Wait) })
	f := Judge(byLog)
	line(w, "  by the log", &f)
	decided(w, loads)
	if slices.ContainsFunc(loads, func(l *load) bool { return l.binding }) {
		bindingReport(w, loads, all, &pooled)
		return
	}
	bounds(w, &pooled, worst)
}

func head(w io.Writer) {
	fmt.Fprintln(w, "             jobs answ | W<p50 W<=p50  p75   p90   p95 | recent |  width p90 (s)  "+
		"|  median error (s)              | log pinball")
	fmt.Fprintln(w, "                       |                               |   p90  |   ours  recent  "+
		"|  ours    on   test-only ratio |   .5     .95")
}

func line(w io.Writer, name string, f *Figures) {
	fmt.Fprintf(w, "%-12s %4d %4d | %5.3f  %5.3f  %5.3f %5.3f %5.3f |  %5.3f | %7.1f %7.1f "+
		"| %6.1f %5d %6.1f /%6.1f %5.3f | %.4f  %.4f\n",
		name, f.Jobs, f.Answered, f.Below[2], f.UpTo[2], f.UpTo[3], f.UpTo[4], f.UpTo[5], f.RecentUpTo,
		f.Width, f.RecentWidth, f.Error, f.Compared, f.ErrorThere, f.TestOnly, f.ErrorThere/f.TestOnly, f.Loss50,
		f.Loss95)
}

// decided prints the coverage over the decided submissions, at two instants of each run: its last submission, and the
// end of its last job.
func decided(w io.Writer, loads []*load) {
	for _, at := range []struct {
		name string
		of   func(*load) time.Time
	}{
		{"last submission", func(l *load) time.Time { return l.last }},
		{"end of last job", func(l *load) time.Time { return l.end }},
	} {
		fmt.Fprintf(w, "decided (submit + q <= as_of) at the %s:", at.name)
		for _, level := range waittime.ScoredLevels() {
			hits, n := 0.0, 0
			for _, l := range loads {
				if share, of := decidedAt(l.cases, level, at.of(l)); of > 0 {
					hits, n = hits+share*float64(of), n+of
				}
			}
			fmt.Fprintf(w, "  p%g %.3f (%d)", 100*level, hits/float64(n), n)
		}
		fmt.Fprintln(w)
	}
}

// bounds prints the targets, with the figures and whether they are met. worstSeed is the coverage of p90 in the worst
// seed.
func bounds(w io.Writer, f *Figures, worstSeed float64) {
	say := func(ok bool, what string, got float64, relation string, bound float64) {
		verdict := "ok  "
		if !ok {
			verdict = "MISS"
		}
		fmt.Fprintf(w, "%s %-28s %.3f, %s %.2f\n", verdict, what, got, relation, bound)
	}
	ratio := f.ErrorThere / f.TestOnly
	say(f.UpTo[4] >= leastP90, "p90 covers", f.UpTo[4], "at least", leastP90)
	say(f.UpTo[5] >= leastP95, "p95 covers", f.UpTo[5], "at least", leastP95)
	say(worstSeed >= leastSeedP90, "p90 of the worst seed covers", worstSeed, "at least", leastSeedP90)
	say(f.Below[2] <= mostBelowMedian, "P(W < p50)", f.Below[2], "at most", mostBelowMedian)
	say(f.UpTo[2] >= leastUpToMedian, "P(W <= p50)", f.UpTo[2], "at least", leastUpToMedian)
	say(ratio <= mostOfTestOnly, "error by test-only's", ratio, "at most", mostOfTestOnly)
}

// Score compares the forecasts in ledgers with the outcomes of the jobs in the folders of runs, and prints figures.
// database is the path of the database with the ledger of a single run. If it is empty, the database in the folder of
// each run is used. With peers Score also evaluates the answers of every other method.
func Score(ctx context.Context, w io.Writer, database string, dirs []string, peers bool) error {
	if database != "" && len(dirs) != 1 {
		return fmt.Errorf("one database and %d runs: name one", len(dirs))
	}
	loads, err := readLoads(dirs)
	if err != nil {
		return err
	}
	byMethod := map[string][]Case{}
	live, replayed := 0, 0
	for _, l := range loads {
		path := database
		if path == "" {
			path = filepath.Join(l.dir, databaseFile)
		}
		rows, err := readLedger(ctx, path)
		if err != nil {
			return err
		}
		for i := range l.cases {
			row, ok := rows[l.ids[i]]
			l.cases[i].Quantiles = nil
			if !ok {
				continue
			}
			if row.Replayed {
				replayed++
			} else {
				live++
			}
			for _, p := range row.Peers {
				c := l.cases[i]
				c.Quantiles = leveled(row.Levels, p.Quantiles)
				byMethod[p.Method] = append(byMethod[p.Method], c)
			}
			l.cases[i].Quantiles = leveled(row.Levels, row.Quantiles)
		}
	}
	fmt.Fprintf(w, "ledger: %d forecasts made live, %d after the fact\n", live, replayed)
	report(w, loads)
	if !peers {
		return nil
	}
	head(w)
	names := make([]string, 0, len(byMethod))
	for name := range byMethod {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := Judge(byMethod[name])
		line(w, name, &f)
	}
	return nil
}

// leveled returns the quantiles at waittime.Levels. It returns nil if one of them is missing.
func leveled(levels, quantiles []float64) []float64 {
	var out []float64
	for _, level := range waittime.Levels() {
		i := slices.Index(levels, level)
		if i < 0 || i >= len(quantiles) || math.IsNaN(quantiles[i]) {
			return nil
		}
		out = append(out, quantiles[i])
	}
	return out
}

// readLedger reads the ledger rows of first attempts in a database, by job. It opens a copy, because opening a database
// locks and migrates it.
func readLedger(ctx context.Context, path string) (map[string]modelstore.Row, error) {
	store, remove, err := openCopy(ctx, path)
	if err != nil {
		return nil, err
	}
	defer remove()
	rows := map[string]modelstore.Row{}
	err = store.Rows(ctx, modelstore.RowQuery{}, func(r modelstore.Row) error {
		if r.Attempt == 0 { // the request before the submission was about the first attempt
			rows[r.JobID] = r
		}
		return nil
	})
	return rows, err
}

// openCopy opens a copy of a database. closeCopy closes and deletes the copy.
func openCopy(ctx context.Context, path string) (_ *sqlite.Store, closeCopy func(), _ error) {
	dir, err := os.MkdirTemp("", "liveload-db-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) } // a temporary folder
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix) //nolint:gosec // whoever runs this names it
		if os.IsNotExist(err) && suffix != "" {
			continue // the database was closed in order
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, databaseFile+suffix), data, 0o600)
		}
		if err != nil {
			remove()
			return nil, nil, err
		}
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, databaseFile), sqlite.Options{})
	if err != nil {
		remove()
		return nil, nil, err
	}
	return store, func() { _ = store.Close(); remove() }, nil
}
