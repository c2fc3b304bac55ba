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
	"syscall"
	"time"

	"github.com/waitcast/waitcast/simulator/study"
	"github.com/waitcast/waitcast/simulator/swfload"
	"github.com/waitcast/waitcast/workload/shake"
)

// curveStudy is one kind of shaking for figure 6.1. name is the name of its files without the endings, and what is a
// description of the shaking.
type curveStudy struct {
	name, what string
	shake      shake.Config
}

func curveStudies() []curveStudy {
	return []curveStudy{
		{"figure61-default", "10 % of the jobs by up to 1 minute (the thesis' least effective shaking)",
			shake.Default()},
		{"figure61-minute", "all jobs by up to 1 minute", interarrivals(60, 0, 1)},
		{"figure61-hour", "all jobs by up to 1 hour", interarrivals(3600, 0, 1)},
	}
}

// These define the size of a study: 46 loads, from 0.5 to 0.95 in steps of 0.01, each with the log itself and 100
// shaken copies.
const (
	curveLoads  = 46
	curveShakes = 100
)

// curve is the result of a study.
type curve struct {
	curveStudy
	groups         []study.Group
	runs           int     // number of runs that took cpu; 0 if unknown
	jobs           int     // number of jobs in each run
	cpu            float64 // processor-seconds of these runs
	single, shaken float64 // roughness of the curve of the log, and of the means of the copies
	// falls is the number of loads at which the slowdown of the log is lower than at the load before. fallsOff is the
	// same for the means of the shaken copies.
	falls, fallsOff int
}

// figure61 makes the section on figure 6.1 of the thesis.
func (d *Data) figure61() (Section, error) {
	s := Section{
		Title: "Ouaknine 2007: figure 6.1, load variations", Paper: ouaknineName,
		Intro: fmt.Sprintf("CTC-SP2-1996-3.1-cln under EASY at offered loads of .5 to .95 by .01, the log itself and "+
			"%d shaken copies at each load: %d simulations of 77,222 jobs for each kind of shaking. The curves are "+
			"kept as CSV "+
			"beside this page. The command of each is `waitcast study %s.swf.gz --load 0.5:0.95:0.01 --shakes 100 "+
			"--out runs.csv --points curve.csv --plot curve.svg`, with `--shake-fraction` and `--shake-degree`.",
			curveShakes, curveLoads*(curveShakes+1), ctc),
	}
	return s, s.gather(d.curveTable)
}

func (d *Data) curveTable() (Table, error) {
	t := Table{Title: "Figure 6.1: bounded slowdown over the load, with and without shaking",
		Standing: InWords}
	var all []curve
	for _, c := range curveStudies() {
		got, err := d.curve(c)
		if err != nil {
			return t, err
		}
		all = append(all, got)
	}
	c := &all[0]
	t.note("roughness of the log's own curve", fmt.Sprintf("%.2f %%", 100*c.single), "\"very noisy\"", "")
	for _, c := range all {
		t.promise(Self, "roughness of the means of 100 shaken copies, "+c.what, fmt.Sprintf("%.2f %%", 100*c.shaken),
			"\"much smoother\"", "", "at most half the log's", c.shaken <= c.single/2)
	}
	t.note(fmt.Sprintf("of %d steps in load, the slowdown falls at: the log", curveLoads-1),
		fmt.Sprint(c.falls), "", "")
	for _, c := range all {
		t.note("the same, means of shaken copies, "+c.what, fmt.Sprint(c.fallsOff), "\"the expected trend\"", "")
	}
	for _, c := range all {
		if c.runs == 0 {
			continue
		}
		rate := float64(c.runs) * float64(c.jobs) / c.cpu
		t.note(fmt.Sprintf("speed, %s: %d runs", c.what, c.runs),
			fmt.Sprintf("%.0f s of one core, %.2f M jobs/s", c.cpu, rate/1e6), "", "")
	}
	t.because("Roughness is the mean absolute second difference of the logarithm of the slowdown from load to load: " +
		"0 for even growth. The shaken curves keep the real bends of the curve, and some of the log's own: " +
		"the least shaking moves every " +
		"tenth job by less than a minute, so that its copies are near relatives. Stronger shaking is smoother.")
	t.because("The thesis says \"much smoother\" and prints no number: half the roughness is a bound of this page, " +
		"and counts as self-consistency.")
	t.because("Loads are by .01 here, by .001 in the thesis. Speed is by the CPU time of the runs that made these " +
		"files, " +
		"in one go and one at a time.")
	t.Picture = filepath.ToSlash(filepath.Join(filepath.Base(d.Folder), all[2].name+".svg"))
	return t, nil
}

// curve returns the result of a study. It reads the points from their CSV file; with Long it first runs the study
// again. It also draws the curve (see draw).
func (d *Data) curve(c curveStudy) (out curve, err error) {
	out.curveStudy = c
	points := filepath.Join(d.Folder, c.name+".csv")
	if d.Long {
		if err := d.study(c, points); err != nil {
			return out, err
		}
	}
	file, err := os.Open(points) //nolint:gosec // the user names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return out, &MissingError{c.name + ".csv", true}
	} else if err != nil {
		return out, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if out.groups, err = study.ReadPoints(file); err != nil {
		return out, fmt.Errorf("%s: %w", points, err)
	}
	curves := study.Curves(out.groups)
	if len(curves) != 1 || len(curves[0].Groups) != curveLoads {
		return out, fmt.Errorf("%s: %d curves; make it again with -long", points, len(curves))
	}
	shaken, ok := curves[0].Shaken()
	if !ok {
		return out, fmt.Errorf("%s: no shaken copies; make it again with -long", points)
	}
	single, means := curves[0].Single(), study.Means(shaken)
	out.single, out.shaken = study.Roughness(single), study.Roughness(means)
	for i := 1; i < curveLoads; i++ {
		if single[i] < single[i-1] {
			out.falls++
		}
		if means[i] < means[i-1] {
			out.fallsOff++
		}
	}
	if err := d.draw(c, out.groups); err != nil {
		return out, err
	}
	return out, out.readSpeed(filepath.Join(d.Folder, c.name+"-speed.csv"))
}

// draw draws the curve of a study into an SVG file.
func (d *Data) draw(c curveStudy, groups []study.Group) error {
	return create(filepath.Join(d.Folder, c.name+".svg"), func(to io.Writer) error {
		return study.PlotCurves(to, "CTC under EASY; shaken: "+c.what, groups)
	})
}

// create creates the file at path, and lets write fill it.
func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path) //nolint:gosec // the user names the folder
	if err != nil {
		return err
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// study runs a study, or continues an interrupted one, and writes its points to a file. If all runs were made without
// an interruption, it also writes the speed.
func (d *Data) study(c curveStudy, points string) error {
	path, err := d.path("traces/" + ctc + ".swf.gz")
	if err != nil {
		return err
	}
	trace, err := swfload.Open(path, swfload.Options{})
	if err != nil {
		return err
	}
	grid := study.Grid{Policies: []string{"easy"}, Estimates: []string{"limits"}, Shakes: curveShakes,
		Seeds: []uint64{1}, Shake: c.shake}
	for i := range curveLoads {
		grid.Loads = append(grid.Loads, math.Round(100*(.5+.01*float64(i)))/100)
	}
	return d.runStudy(c.name, grid, trace, points)
}

func (d *Data) runStudy(name string, grid study.Grid, trace *swfload.Trace, points string) error {
	plan, err := study.NewPlan(grid, trace)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.Runs, 0o755); err != nil { //nolint:gosec // it is no secret
		return err
	}
	runs, before, began := filepath.Join(d.Runs, name+".csv"), -1, cpuSeconds()
	rows, err := plan.Run(context.Background(), study.Options{Out: runs, Workers: 1, Done: func(done, of int) {
		if before < 0 {
			before = done
		}
		if done%curveShakes == 0 {
			d.say("%s: %d of %d runs", name, done, of)
		}
	}})
	if err != nil {
		return err
	}
	seconds := cpuSeconds() - began
	if err := create(points, func(to io.Writer) error {
		return study.WritePoints(to, study.Groups(rows))
	}); err != nil {
		return err
	}
	speed := [][]string{{"runs", "jobs", "cpu_seconds"},
		{strconv.Itoa(plan.Cells()), strconv.Itoa(len(trace.Jobs)), strconv.FormatFloat(seconds, 'f', 1, 64)}}
	if before == 0 && seconds > 0 {
		err = create(filepath.Join(d.Folder, name+"-speed.csv"),
			func(to io.Writer) error { return csv.NewWriter(to).WriteAll(speed) })
	}
	return errors.Join(err, os.Remove(runs))
}

// cpuSeconds returns the processor time of this process so far, in seconds.
func cpuSeconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}

// readSpeed sets the speed of the study (runs, jobs and cpu) from a file. There is no file if the study was
// interrupted.
func (c *curve) readSpeed(path string) error {
	file, err := os.Open(path) //nolint:gosec // the user names the folder
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[1]) != 3 {
		return fmt.Errorf("%s: not the speed of a study; make it again with -long", path)
	}
	var failed [3]error
	c.runs, failed[0] = strconv.Atoi(rows[1][0])
	c.jobs, failed[1] = strconv.Atoi(rows[1][1])
	c.cpu, failed[2] = strconv.ParseFloat(rows[1][2], 64)
	if err := errors.Join(failed[:]...); err != nil || c.cpu <= 0 {
		return errors.Join(fmt.Errorf("%s: not the speed of a study; make it again with -long", path), err)
	}
	return nil
}
