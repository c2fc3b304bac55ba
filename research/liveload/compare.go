package liveload

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
)

// ReplayDayOne replays the journals that DayOne recorded for one seed in the folder named by from. It writes three runs
// to the folder named by to: one of the daemon that followed from the start, one of the daemon without history, and one
// of the daemon with history. For the last one ReplayDayOne imports the history before the first request. If the
// recording has no daemon with history, the last run replays the journal of the daemon without history.
func ReplayDayOne(ctx context.Context, from, to string) error {
	late := taughtDir
	if _, err := os.Stat(filepath.Join(from, late, databaseFile)); os.IsNotExist(err) {
		late = freshDir
	}
	for _, r := range []struct{ journal, name, history string }{
		{followedDir, followedDir, ""},
		{freshDir, freshDir, ""},
		{late, taughtDir, filepath.Join(from, historyFile)},
	} {
		err := replayRun(ctx, filepath.Join(from, r.journal), filepath.Join(to, r.name), r.history)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", from, r.name, err)
		}
	}
	return nil
}

// These are the target for the comparison of daemons, and settings for the computation of the bounds.
const (
	// mostTaught is the target, a maximum for the upper bound of this ratio: the loss of the daemon that imported
	// history, divided by the loss of the daemon that followed from the start.
	mostTaught = 1.10
	// blockJobs is the number of consecutive jobs that a sample draws together, because the waits of jobs that are in
	// the queue at the same time are correlated.
	blockJobs = 20
	// replicates is the number of bootstrap samples. confidence is the probability that a one-sided bound holds.
	replicates = 10_000
	confidence = 0.95
)

// firstJobs is the number of jobs at the beginning of the last load that are also evaluated separately, because a
// daemon without history knows least then.
const firstJobs = 60

// CompareDayOne reads the folders of some seeds, one for each of dirs. It prints the losses of all daemons, and for the
// daemons that DayOne started late the ratios of their losses to those of the daemon that followed from the start. If
// ledger is true, it evaluates the forecasts in the daemons' ledgers, which were made at the submissions. Otherwise it
// evaluates the answers that were given just before the submissions.
func CompareDayOne(ctx context.Context, w io.Writer, dirs []string, ledger bool) error {
	fmt.Fprintf(w, "%-10s %-9s %5s | loss at%7s%7s%7s%7s%7s%7s | mean   | by followed  lower  upper\n", "seed",
		"daemon", "jobs", "p10", "p25", "p50", "p75", "p90", "p95")
	var all []pairing
	for _, dir := range dirs {
		some, err := readPairings(ctx, dir, ledger)
		if err != nil {
			return err
		}
		for i := range some {
			some[i].print(w, filepath.Base(dir))
		}
		all = append(all, some...)
	}
	for _, name := range []string{followedDir, freshDir, taughtDir} {
		pooled := pool(all, name, func(int) bool { return true })
		if len(pooled.blocks) == 0 {
			continue
		}
		pooled.print(w, "all")
		if name == followedDir {
			continue
		}
		pooled.printRatios(w)
		for _, part := range []struct {
			name string
			has  func(job int) bool
		}{
			{fmt.Sprintf("first %d", firstJobs), func(job int) bool { return job < firstJobs }},
			{"others", func(job int) bool { return job >= firstJobs }},
		} {
			if some := pool(all, name, part.has); len(some.blocks) > 0 {
				some.print(w, part.name)
			}
		}
		if name == taughtDir {
			_, high := pooled.bounds(losses.mean)
			printVerdict(w, high)
		}
	}
	return nil
}

// printVerdict prints whether the upper bound high meets the target mostTaught.
func printVerdict(w io.Writer, high float64) {
	verdict := "ok  "
	if high > mostTaught {
		verdict = "MISS"
	}
	fmt.Fprintf(w, "%s the loss with imported history, by that of a daemon that followed all along, has the upper "+
		"bound %.3f, at most %.2f\n", verdict, high, mostTaught)
}

// pairing has the losses of two daemons for the same jobs, in blocks. One daemon has the given name, the other is the
// daemon that followed from the start.
type pairing struct {
	name   string
	blocks []block
}

// block has the losses of consecutive jobs.
type block struct {
	first          int // index of the first job in the load
	mine, followed []losses
}

// losses are the losses of the forecast of one job, one for each of waittime.Levels.
type losses []float64

func (l losses) mean() float64 {
	sum := 0.0
	for _, x := range l {
		sum += x
	}
	return sum / float64(len(l))
}

// atLevel returns a function that returns the loss at the level with this index.
func atLevel(level int) func(losses) float64 { return func(l losses) float64 { return l[level] } }

func newPairing(name string, mine, followed []losses) pairing {
	p := pairing{name: name}
	for first := 0; first < len(mine); first += blockJobs {
		end := min(first+blockJobs, len(mine))
		p.blocks = append(p.blocks, block{first, mine[first:end], followed[first:end]})
	}
	return p
}

// pool joins the pairings of the daemon with this name. It takes a block only if has returns true for the first job of
// the block.
func pool(all []pairing, name string, has func(job int) bool) pairing {
	out := pairing{name: name}
	for i := range all {
		for _, b := range all[i].blocks {
			if all[i].name == name && has(b.first) {
				out.blocks = append(out.blocks, b)
			}
		}
	}
	return out
}

// readPairings returns the pairings of all daemons of a seed. The daemon that followed from the start is paired with
// itself. It is an error if the two daemons of a pair do not have the same number of jobs.
func readPairings(ctx context.Context, dir string, ledger bool) ([]pairing, error) {
	followed, err := readLosses(ctx, filepath.Join(dir, followedDir), ledger)
	if err != nil {
		return nil, err
	}
	out := []pairing{newPairing(followedDir, followed, followed)}
	for _, name := range []string{freshDir, taughtDir} {
		if _, err := os.Stat(filepath.Join(dir, name, recordsFile)); os.IsNotExist(err) {
			continue // no daemon imported the history
		}
		mine, err := readLosses(ctx, filepath.Join(dir, name), ledger)
		if err != nil {
			return nil, err
		}
		if len(mine) != len(followed) {
			return nil, fmt.Errorf("%s: %d forecasts of %s and %d of %s", dir, len(mine), name, len(followed),
				followedDir)
		}
		out = append(out, newPairing(name, mine, followed))
	}
	return out, nil
}

// readLosses returns the losses of the forecasts of a run, one item for each job, in the order of their submissions.
func readLosses(ctx context.Context, dir string, ledger bool) ([]losses, error) {
	l, err := readLoad(dir)
	if err != nil {
		return nil, err
	}
	if ledger {
		rows, err := readLedger(ctx, filepath.Join(dir, databaseFile))
		if err != nil {
			return nil, err
		}
		for i := range l.cases {
			row := rows[l.ids[i]]
			l.cases[i].Quantiles = leveled(row.Levels, row.Quantiles)
		}
	}
	var out []losses
	for i := range l.cases {
		c := &l.cases[i]
		if c.Quantiles == nil {
			return nil, fmt.Errorf("%s: no forecast of job %s", dir, l.ids[i])
		}
		at := make(losses, len(c.Quantiles))
		for n, level := range waittime.Levels() {
			at[n] = logLoss(level, c.Quantiles[n], c.Wait)
		}
		out = append(out, at)
	}
	return out, nil
}

// sums has the sums of the losses of some jobs: of one daemon, and of the daemon that followed from the start.
type sums struct{ mine, followed float64 }

func (s sums) plus(t sums) sums { return sums{s.mine + t.mine, s.followed + t.followed} }

// sums returns the sums of the losses of each block. The argument is a function that returns the loss of a job.
func (p *pairing) sums(of func(losses) float64) []sums {
	out := make([]sums, len(p.blocks))
	for n, b := range p.blocks {
		for i := range b.mine {
			out[n] = out[n].plus(sums{of(b.mine[i]), of(b.followed[i])})
		}
	}
	return out
}

// ratio returns the daemon's loss over all jobs, divided by that of the daemon that followed from the start.
func (p *pairing) ratio(of func(losses) float64) float64 {
	var all sums
	for _, s := range p.sums(of) {
		all = all.plus(s)
	}
	return all.mine / all.followed
}

// bounds returns one-sided lower and upper bounds of ratio, by a paired bootstrap over blocks of jobs. The bounds are
// quantiles of the ratios of the samples (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3).
func (p *pairing) bounds(of func(losses) float64) (low, high float64) {
	random := rand.New(rand.NewPCG(1, planStream))
	blocks, ratios := p.sums(of), make([]float64, replicates)
	for i := range ratios {
		var sample sums
		for range blocks {
			sample = sample.plus(blocks[random.IntN(len(blocks))])
		}
		ratios[i] = sample.mine / sample.followed
	}
	slices.Sort(ratios)
	last := float64(replicates - 1)
	return ratios[int(math.Floor((1-confidence)*last))], ratios[int(math.Ceil(confidence*last))]
}

// print prints a line with the daemon's mean loss at each level and over all levels. For a daemon that started late it
// adds the ratio of the losses and the bounds of the ratio.
func (p *pairing) print(w io.Writer, seed string) {
	jobs := 0
	for _, b := range p.blocks {
		jobs += len(b.mine)
	}
	mean := func(of func(losses) float64) float64 {
		var all sums
		for _, s := range p.sums(of) {
			all = all.plus(s)
		}
		return all.mine / float64(jobs)
	}
	fmt.Fprintf(w, "%-10s %-9s %5d |        ", seed, p.name, jobs)
	for l := range waittime.Levels() {
		fmt.Fprintf(w, " %.4f", mean(atLevel(l)))
	}
	fmt.Fprintf(w, " | %.4f", mean(losses.mean))
	if p.name != followedDir {
		low, high := p.bounds(losses.mean)
		fmt.Fprintf(w, " | %.3f        %.3f  %.3f", p.ratio(losses.mean), low, high)
	}
	fmt.Fprintln(w)
}

// printRatios prints the ratios of the losses at each level, with their bounds.
func (p *pairing) printRatios(w io.Writer) {
	lows, ratios, highs := "", "", ""
	for l := range waittime.Levels() {
		low, high := p.bounds(atLevel(l))
		lows += fmt.Sprintf("  %.3f", low)
		ratios += fmt.Sprintf("  %.3f", p.ratio(atLevel(l)))
		highs += fmt.Sprintf("  %.3f", high)
	}
	for _, line := range []struct{ name, figures string }{{"ratio", ratios}, {"lower", lows}, {"upper", highs}} {
		fmt.Fprintf(w, "%-10s %-9s %5s |        %s\n", "", line.name, "", line.figures)
	}
}
