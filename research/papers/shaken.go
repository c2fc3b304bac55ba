package papers

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/research/papers/ouaknine"
	"github.com/waitcast/waitcast/workload/shake"
	"github.com/waitcast/waitcast/workload/users"
)

// These are the states in which the log SDSC-SP2 is simulated. asGiven is added to a state if time limits stay as
// given.
const (
	asLogged = "log"
	cutOff   = "30 s off" // without the 30 s by which job 64241 exceeds its limit
	reversed = "reversed" // jobs submitted at one instant are in reverse order
	asGiven  = ", limits as given"
)

// shakeCase is a case to simulate: a state of the log, a shaking and a number of runs.
type shakeCase struct {
	state string
	cfg   shake.Config
	runs  int
}

// key identifies the case. It is the first columns of its row in the CSV file.
func (c *shakeCase) key() []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	return []string{c.state, c.cfg.Attribute.String(), c.cfg.Level.String(), number(c.cfg.Degree),
		number(c.cfg.Relative), number(c.cfg.Fraction), strconv.Itoa(c.runs)}
}

// spread describes the results of shaken runs, compared with the result of the log itself.
type spread struct {
	shake.Summary
	SD, Min, Max float64
}

// outcome is the result of a case: the spreads of the mean bounded slowdown and of the mean wait in seconds.
type outcome struct{ slowdown, wait spread }

// shakenColumns returns the names of the columns in the CSV file.
func shakenColumns() []string {
	out := []string{"state", "attribute", "level", "degree", "relative", "fraction", "runs"}
	for _, measure := range []string{"bounded_slowdown", "wait"} {
		for _, of := range []string{"original", "mean", "p05", "p95", "concentration", "sd", "min", "max"} {
			out = append(out, measure+"_"+of)
		}
	}
	return out
}

func (s *spread) values() []*float64 {
	return []*float64{&s.Original, &s.Mean, &s.Low, &s.High, &s.Concentration, &s.SD, &s.Min, &s.Max}
}

// sdscJobs returns the jobs of SDSC-SP2 that ran, in the given state, and the number of processors of the machine.
func (d *Data) sdscJobs(state string) ([]users.Job, int, error) {
	l, err := d.log(sdsc)
	if err != nil {
		return nil, 0, err
	}
	state, given := strings.CutSuffix(state, asGiven)
	jobs := ouaknine.Jobs(l.records, given)
	switch state {
	case cutOff:
		if jobs, err = ouaknine.Truncated(jobs); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", sdsc, err)
		}
	case reversed:
		jobs = ouaknine.Reversed(jobs)
	}
	return jobs, int(l.header.MaxProcs), nil
}

// run simulates a case and returns its outcome.
func (d *Data) run(c *shakeCase) (out outcome, err error) {
	jobs, procs, err := d.sdscJobs(c.state)
	if err != nil {
		return out, err
	}
	cfg := c.cfg
	cfg.MaxProcs = procs
	s, err := shake.New(jobs, cfg)
	if err != nil {
		return out, err
	}
	results, err := shake.Runs(context.Background(), s, c.runs, 1,
		func(_ int, jobs []users.Job) (ouaknine.Means, error) { return ouaknine.Simulate(jobs, procs) })
	if err != nil {
		return out, err
	}
	original, err := ouaknine.Simulate(jobs, procs)
	if err != nil {
		return out, err
	}
	if out.slowdown, err = spreadOf(original, results, func(m ouaknine.Means) float64 {
		return m.Slowdown
	}); err != nil {
		return out, err
	}
	out.wait, err = spreadOf(original, results, func(m ouaknine.Means) float64 { return m.Wait })
	return out, err
}

// spreadOf returns the spread of one measure. The last argument is a function that returns the measure from the means
// of a run.
func spreadOf(original ouaknine.Means, results []ouaknine.Means,
	of func(ouaknine.Means) float64) (s spread, err error) {
	values := make([]float64, len(results))
	for i, r := range results {
		values[i] = of(r)
	}
	s.Summary, err = shake.Summarize(of(original), values)
	s.SD, s.Min, s.Max = stat.StdDev(values, nil), slices.Min(values), slices.Max(values)
	return s, err
}

// shakenFile is the name of the CSV file with the outcomes of shaken runs.
const shakenFile = "shaken.csv"

// readShaken reads a CSV file of outcomes, and returns them by key. If the file does not exist, there are none.
func readShaken(path string) (map[string]outcome, error) {
	file, err := os.Open(path) //nolint:gosec // the user names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]outcome{}, nil
	} else if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; delete it", path, err)
	}
	out := map[string]outcome{}
	for i, row := range rows {
		if i == 0 {
			if !slices.Equal(row, shakenColumns()) {
				return nil, fmt.Errorf("%s:1: another header; delete it", path)
			}
			continue
		}
		var o outcome
		for k, x := range slices.Concat(o.slowdown.values(), o.wait.values()) {
			if *x, err = strconv.ParseFloat(row[7+k], 64); err != nil {
				return nil, fmt.Errorf("%s:%d: %w; delete it", path, i+1, err)
			}
		}
		o.slowdown.complete(row[6])
		o.wait.complete(row[6])
		out[fmt.Sprint(row[:7])] = o
	}
	return out, nil
}

// complete sets the fields that are not in the CSV file. runs is the column with the number of runs.
func (s *spread) complete(runs string) {
	s.Runs, _ = strconv.Atoi(runs) // 0 if the column is no number
	s.Span, s.Distance = (s.High-s.Low)/s.Original, (s.Mean-s.Original)/s.Original
}

// writeShaken writes the outcomes of those cases that have one. After a crash the file has either the old or the new
// content.
func writeShaken(path string, cases []shakeCase, outcomes map[string]outcome) error {
	records := [][]string{shakenColumns()}
	for i := range cases {
		key := cases[i].key()
		o, ok := outcomes[fmt.Sprint(key)]
		if !ok {
			continue
		}
		for _, x := range slices.Concat(o.slowdown.values(), o.wait.values()) {
			key = append(key, strconv.FormatFloat(*x, 'g', 7, 64))
		}
		records = append(records, key)
	}
	file, err := os.Create(path + ".new") //nolint:gosec // the user names the folder
	if err != nil {
		return err
	}
	if err := errors.Join(csv.NewWriter(file).WriteAll(records), file.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// shaken returns the outcomes of cases by key. It reads them from the CSV file. With Missing it first computes those
// that the file lacks. With Long it computes all again, and continues after an interruption.
func (d *Data) shaken(cases []shakeCase) (map[string]outcome, error) {
	path := filepath.Join(d.Folder, shakenFile)
	if !d.Long && d.Missing {
		outcomes, err := readShaken(path)
		if err != nil {
			return nil, err
		}
		if err := d.runShaken(cases, outcomes, path); err != nil {
			return nil, err
		}
	}
	if !d.Long {
		return readShaken(path)
	}
	if err := os.MkdirAll(d.Runs, 0o755); err != nil { //nolint:gosec // it is no secret
		return nil, err
	}
	unfinished := filepath.Join(d.Runs, shakenFile)
	outcomes, err := readShaken(unfinished)
	if err != nil {
		return nil, err
	}
	if err := d.runShaken(cases, outcomes, unfinished); err != nil {
		return nil, err
	}
	if err := writeShaken(path, cases, outcomes); err != nil {
		return nil, err
	}
	if err := os.Remove(unfinished); err != nil {
		return nil, err
	}
	return readShaken(path) // so that the numbers have the digits of the file
}

// runShaken computes those outcomes of cases that are missing, and writes all outcomes to a file after each of them.
func (d *Data) runShaken(cases []shakeCase, outcomes map[string]outcome, path string) error {
	for i := range cases {
		c := &cases[i]
		key := fmt.Sprint(c.key())
		if _, ok := outcomes[key]; ok {
			continue
		}
		d.say("shaking %d of %d: %s", i+1, len(cases), key)
		o, err := d.run(c)
		if err != nil {
			return err
		}
		outcomes[key] = o
		if err := writeShaken(path, cases, outcomes); err != nil {
			return err
		}
	}
	return nil
}
