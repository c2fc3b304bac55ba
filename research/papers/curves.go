package papers

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/waitcast/waitcast/research/papers/ouaknine"
	"github.com/waitcast/waitcast/simulator/study"
	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// curvesFile is the name of the CSV file with the curves of sections 6.4 and 6.5 of Ouaknine's thesis.
const curvesFile = "curves.csv"

// curveRuns is the number of shaken copies for each point of these curves. The thesis has 100.
const curveRuns = 20

// These are the names of the quantities that vary along a curve (see curveAbscissae).
const (
	overWindow  = "window"
	overBadness = "badness"
)

// curvePoint is a point of a curve. over names the quantity that varies along the curve, and at is its value. single is
// the mean bounded slowdown of the log. mean, low and high are the mean, the 5 % and the 95 % quantile of the mean
// bounded slowdowns of shaken copies. singleWait and wait are the mean waits, in seconds, of the log and of the copies.
type curvePoint struct {
	over             string
	at               float64
	single           float64
	mean, low, high  float64
	singleWait, wait float64
}

// curveAbscissae returns the abscissae of a curve: windows of 1 to 20 jobs, or values of ouaknine.Bad's factor from 0
// to 5.
func curveAbscissae(over string) (out []float64) {
	from, to, step := 1., 20., 1.
	if over == overBadness {
		from, to, step = 0, 5, .25
	}
	for x := from; x <= to; x += step {
		out = append(out, x)
	}
	return out
}

// curveAt simulates a point of a curve. In the copies the interarrival times of all jobs are shaken by up to 15 minutes
// and up to 10 %.
func (d *Data) curveAt(over string, at float64) (p curvePoint, err error) {
	jobs, procs, err := d.sdscJobs(asLogged)
	if err != nil {
		return p, err
	}
	simulate := ouaknine.Simulate
	if over == overBadness {
		jobs = ouaknine.Bad(jobs, at)
	} else {
		simulate = func(jobs []users.Job, procs int) (ouaknine.Means, error) {
			return ouaknine.SimulateWindow(jobs, procs, int(at))
		}
	}
	cfg := interarrivals(900, .1, 1)
	cfg.MaxProcs = procs
	s, err := shake.New(jobs, cfg)
	if err != nil {
		return p, err
	}
	results, err := shake.Runs(context.Background(), s, curveRuns, 1,
		func(_ int, jobs []users.Job) (ouaknine.Means, error) { return simulate(jobs, procs) })
	if err != nil {
		return p, err
	}
	original, err := simulate(jobs, procs)
	if err != nil {
		return p, err
	}
	slowdown, err := spreadOf(original, results, func(m ouaknine.Means) float64 { return m.Slowdown })
	if err != nil {
		return p, err
	}
	wait, err := spreadOf(original, results, func(m ouaknine.Means) float64 { return m.Wait })
	return curvePoint{over, at, original.Slowdown, slowdown.Mean, slowdown.Low, slowdown.High, original.Wait,
		wait.Mean}, err
}

// values returns pointers to the numbers of a point, in the order of its CSV row.
func (p *curvePoint) values() []*float64 {
	return []*float64{&p.at, &p.single, &p.mean, &p.low, &p.high, &p.singleWait, &p.wait}
}

func curveHeader() []string {
	return []string{"over", "at", "bounded_slowdown", "shaken_mean", "shaken_p05", "shaken_p95", "wait",
		"shaken_wait_mean"}
}

// curves returns the points of both curves. It reads them from the CSV file. With Long, or with Missing if there is no
// file, it computes them and writes the file.
func (d *Data) curves() ([]curvePoint, error) {
	path := filepath.Join(d.Folder, curvesFile)
	points, err := readCurves(path)
	var missing *MissingError
	if !d.Long && (!d.Missing || !errors.As(err, &missing)) {
		return points, err
	}
	var out []curvePoint
	for _, over := range []string{overWindow, overBadness} {
		for _, at := range curveAbscissae(over) {
			p, err := d.curveAt(over, at)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
			d.say("%s %g: %.2f, shaken %.2f", over, at, p.single, p.mean)
		}
	}
	return out, create(path, func(to io.Writer) error {
		rows := [][]string{curveHeader()}
		for i := range out {
			row := []string{out[i].over}
			for _, x := range out[i].values() {
				row = append(row, strconv.FormatFloat(*x, 'g', 8, 64))
			}
			rows = append(rows, row)
		}
		return csv.NewWriter(to).WriteAll(rows)
	})
}

func readCurves(path string) ([]curvePoint, error) {
	file, err := os.Open(path) //nolint:gosec // the user names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &MissingError{curvesFile, true}
	} else if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 || len(rows[0]) != len(curveHeader()) {
		return nil, fmt.Errorf("%s: no curves; make it again with -long", path)
	}
	var out []curvePoint
	for i, row := range rows[1:] {
		p := curvePoint{over: row[0]}
		for k, x := range p.values() {
			if *x, err = strconv.ParseFloat(row[k+1], 64); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, i+2, err)
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// predictionWindow makes the table for section 6.4 of the thesis. It has no promises.
func (d *Data) predictionWindow() (Table, error) {
	t := Table{Title: "Section 6.4: the prediction window", Standing: NotReproduced}
	points, err := d.curveOf(&t, overWindow, "slowdown over the mean of the last 1 to 20 runtimes")
	if err != nil {
		return t, err
	}
	for i, p := range points {
		if p.at == 13 && i > 0 {
			t.note("from 12 to 13 runtimes: of the log, of shaken copies", percent(p.single/points[i-1].single-1)+", "+
				percent(p.mean/points[i-1].mean-1), "-29 %, no threshold", "")
		}
	}
	t.because("Reported only: the thesis prints no number of its figures but that of the step from 12 to 13. The " +
		"curve of " +
		"the log is rough here too, but the step is a smaller one, and not the largest. Predictions are at most the " +
		"user's limit, and are that until a job of the user has ended, which the thesis does not say. " +
		"A job that runs longer than is planned for overruns its reservation.")
	return t, nil
}

// badnessFactor makes the table for section 6.5 of the thesis. It has no promises.
func (d *Data) badnessFactor() (Table, error) {
	t := Table{Title: "Section 6.5: the estimation factor", Standing: InWords}
	_, err := d.curveOf(&t, overBadness, "slowdown over estimates in [R, (f + 1) R], f from 0 to 5")
	t.because("Reported only: the thesis prints no numbers of its figures. The same random numbers serve every f.")
	return t, err
}

// curveOf adds a row about one curve to a table, and returns the points of that curve.
func (d *Data) curveOf(t *Table, over, what string) (of []curvePoint, err error) {
	t.Header = []string{"curve", "points", "of the log: least to greatest", "roughness",
		"of 20 shaken copies: least to greatest", "roughness"}
	points, err := d.curves()
	if err != nil {
		return nil, err
	}
	var single, shaken []float64
	for _, p := range points {
		if p.over == over {
			of, single, shaken = append(of, p), append(single, p.single), append(shaken, p.mean)
		}
	}
	if len(single) < 3 {
		return nil, fmt.Errorf("%s: %d points of %s; make it again with -long", curvesFile, len(single), over)
	}
	t.Cells = append(t.Cells, []string{what, fmt.Sprint(len(single)), rangeOf(single),
		fmt.Sprintf("%.2f %%", 100*study.Roughness(single)), rangeOf(shaken),
		fmt.Sprintf("%.2f %%", 100*study.Roughness(shaken))})
	t.because("Interarrival times of all jobs are shaken by up to 15 minutes and 10 %%. Roughness is that of figure " +
		"6.1.")
	return of, nil
}

func rangeOf(x []float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	return fmt.Sprintf("%.1f to %.1f", low, high)
}
