package offline

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
	"github.com/waitcast/waitcast/workload/compare"
)

func newCompare(a *Commands) *cobra.Command {
	var from start
	command := &cobra.Command{
		Use:   "compare ORIGINAL.swf OTHER.swf",
		Short: "Compare two workloads",
		Long: "Measure two workloads and the distances between them: distributions of sizes, runtimes, interarrival " +
			"times and users, work, correlations, locality,\n" +
			"self-similarity and the weekly profile. Jobs that never ran or have no processors do not count. Files " +
			"may be compressed with gzip; one may be -,\n" +
			"standard input.",
		Example: "  waitcast generate --from log.swf --jobs 20000 | waitcast compare log.swf -",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" && args[1] == "-" {
				return console.NewUsageError("only one of the two can be standard input")
			}
			if err := from.check(); err != nil {
				return err
			}
			return a.compare(args[0], args[1], &from)
		},
	}
	from.flag(command)
	return command
}

// Compared is the output of --json.
type Compared struct {
	Files [2]comparedFile `json:"files"`
	compare.Report
}

type comparedFile struct {
	Name     string         `json:"name"`
	Jobs     int            `json:"jobs"`
	LeftOut  skippedRecords `json:"left_out"`
	BadLines int64          `json:"bad_lines"`
}

func (a *Commands) compare(original, other string, from *start) error {
	var out Compared
	var workloads [2]compare.Workload
	for i, file := range []string{original, other} {
		r, err := a.record(file)
		if err != nil {
			return err
		}
		begin, err := from.of(r)
		if err != nil {
			return err
		}
		left, err := new(selection).choose(r)
		if err != nil {
			return err
		}
		workloads[i] = r.workload()
		workloads[i].Start = begin
		out.Files[i] = comparedFile{Name: r.name, Jobs: len(r.records), LeftOut: left, BadLines: r.bad}
	}
	out.Report = compare.Compare(workloads[0], workloads[1])
	for i, m := range []*compare.Measures{&out.Original, &out.Other} {
		noteAbsent(m.Missing, workloads[i])
	}
	if a.JSON {
		return json.NewEncoder(a.JSONTo()).Encode(out)
	}
	return out.print(a.Stdout)
}

// noteAbsent records which measures are missing because the file lacks a column that they need.
func noteAbsent(missing map[string]string, w compare.Workload) {
	if w.Limit == nil {
		for _, what := range []string{"stack_depth limit", "concentration limit"} {
			missing[what] = "no job has a time limit (field 9)"
		}
	}
	if w.User == nil {
		missing["users"] = "no job has a user (field 12)"
	}
}

// print writes a table of measures with one column for each workload and one for their difference.
func (c *Compared) print(to io.Writer) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	o, x := &c.Original, &c.Other
	line("", "original", "other", "difference")
	both := func(label string, a, b *float64) { line(label, number(a), number(b), difference(a, b)) }
	jobs := [2]float64{float64(o.Jobs), float64(x.Jobs)}
	both("Jobs", &jobs[0], &jobs[1])
	both("Squashed area, processor seconds", o.SquashedArea, x.SquashedArea)
	line("  for each job", "", "", relative(c.AreaDifference))
	both("Correlation of size and runtime", o.Correlation, x.Correlation)
	both("Autocorrelation of sizes", o.ProcsAutocorr, x.ProcsAutocorr)
	both("Autocorrelation of runtimes", o.RuntimeAutocorr, x.RuntimeAutocorr)
	for _, name := range []string{"procs", "runtime", "limit"} {
		both("Stack depth, "+name, depth(o, name), depth(x, name))
	}
	for _, name := range []string{"procs", "runtime", "limit"} {
		both("Daily concentration, "+name, entry(o.Concentration, name), entry(x.Concentration, name))
	}
	both("Hurst parameter of arrivals", hurst(o), hurst(x))
	both("Users", people(o), people(x))
	both("  jobs of each, mean", mean(o, jobsOf), mean(x, jobsOf))
	both("  sessions of each, mean", mean(o, sessionsOf), mean(x, sessionsOf))
	both("  active for, seconds, mean", mean(o, activeOf), mean(x, activeOf))
	line()
	line("Distance (KS)", "", "", "")
	for _, name := range slices.Sorted(maps.Keys(c.KS)) {
		line("  "+name, "", "", number(entry(c.KS, name)))
	}
	line("Distance of weekly profiles", "", "", number(c.WeeklyDistance))
	if err := t.Flush(); err != nil {
		return err
	}
	return c.notes(to)
}

// notes writes which records were left out and which measures are missing.
func (c *Compared) notes(to io.Writer) error {
	var p console.TextPage
	p.Line("", "")
	for _, f := range c.Files {
		p.Line("Left out", fmt.Sprintf("of %s: %s", f.Name, f.LeftOut))
	}
	if !c.WaitsCount {
		p.Line("Sessions", "a job counts as ending a runtime after its submission, on both sides: not all jobs have "+
			"a wait (field 3)")
	}
	for _, m := range []struct {
		who  string
		what map[string]string
	}{{c.Files[0].Name, c.Original.Missing}, {c.Files[1].Name, c.Other.Missing}, {"both", c.Missing}} {
		for _, what := range slices.Sorted(maps.Keys(m.what)) {
			p.Line("Missing", fmt.Sprintf("%s of %s: %s", what, m.who, m.what[what]))
		}
	}
	_, err := to.Write(p.Bytes())
	return err
}

func jobsOf(u *compare.UserStats) []float64     { return u.Jobs }
func sessionsOf(u *compare.UserStats) []float64 { return u.Sessions }
func activeOf(u *compare.UserStats) []float64   { return u.Active }

// mean returns the mean of a column over all users.
func mean(m *compare.Measures, column func(*compare.UserStats) []float64) *float64 {
	if m.Users == nil || len(column(m.Users)) == 0 {
		return nil
	}
	x := stat.Mean(column(m.Users), nil)
	return &x
}

func people(m *compare.Measures) *float64 {
	if m.Users == nil {
		return nil
	}
	n := float64(len(m.Users.Jobs))
	return &n
}

func hurst(m *compare.Measures) *float64 {
	if m.Hurst == nil {
		return nil
	}
	return &m.Hurst.H
}

func depth(m *compare.Measures, name string) *float64 {
	l, ok := m.StackDepth[name]
	if !ok {
		return nil
	}
	return &l.Depth
}

func entry(m map[string]float64, name string) *float64 {
	x, ok := m[name]
	if !ok {
		return nil
	}
	return &x
}

// number formats a measure with five significant digits, and whole numbers in full. It returns "-" for nil.
func number(x *float64) string {
	switch {
	case x == nil:
		return "-"
	case *x == float64(int64(*x)) && *x < 1e15 && *x > -1e15:
		return strconv.FormatInt(int64(*x), 10)
	}
	return strconv.FormatFloat(*x, 'g', 5, 64)
}

// difference formats b - a, with its share of a.
func difference(a, b *float64) string {
	if a == nil || b == nil {
		return "-"
	}
	d := *b - *a
	text := number(&d)
	if d > 0 {
		text = "+" + text
	}
	if *a != 0 {
		share := d / *a
		text += " (" + relative(&share) + ")"
	}
	return text
}

func relative(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100**share)
}
