package papers

import (
	"errors"
	"fmt"
	"math"

	"github.com/waitcast/waitcast/research/papers/ouaknine"
	"github.com/waitcast/waitcast/workload/shake"
)

// interarrivals returns a shaking of interarrival times, of the given fraction of the jobs. A time is shaken by up to
// degree seconds. Unless relative is 0, it is never shaken by more than the time itself multiplied by relative.
func interarrivals(degree, relative, fraction float64) shake.Config {
	return shake.Config{Attribute: shake.Interarrival, Level: shake.Jobs, Degree: degree, Relative: relative,
		Fraction: fraction}
}

// shakings returns all cases of chapters 5 and 6 of the thesis that are simulated, each once.
func shakings() []shakeCase {
	var all []shakeCase
	for _, relative := range []float64{0, .1} {
		for _, degree := range []float64{60, 300, 900} {
			for _, state := range []string{asLogged, cutOff} {
				all = append(all, shakeCase{state, interarrivals(degree, relative, 1), shake.DefaultRuns})
			}
		}
	}
	all = append(all, shakeCase{reversed, interarrivals(300, 0, 1), shake.DefaultRuns})
	for _, state := range []string{asLogged, cutOff} {
		all = append(all, shakeCase{state + asGiven, interarrivals(60, 0, 1), shake.DefaultRuns})
	}
	for _, state := range []string{asLogged, reversed} {
		all = append(all, shakeCase{state + asGiven, interarrivals(300, 0, 1), shake.DefaultRuns})
	}
	for _, cfg := range attributes() {
		for _, cfg.Fraction = range []float64{.01, .1, 1} {
			all = append(all, shakeCase{asLogged, cfg, surfaceRuns})
		}
	}
	for _, degree := range degrees() {
		for _, fraction := range fractions() {
			// the list already has the others
			if c := (shakeCase{asLogged, interarrivals(degree, 0, fraction), surfaceRuns}); degree != 60 ||
				fraction == .03 || fraction == .3 {
				all = append(all, c)
			}
		}
	}
	for _, c := range concentrations()[1:] {
		all = append(all, c.shakeCase)
	}
	return all
}

// concentrations returns interpretations of the strongest shaking in Figure 5.9 (a). The first is what the thesis says.
func concentrations() []struct {
	what string
	shakeCase
} {
	return []struct {
		what string
		shakeCase
	}{
		{"all jobs by up to 300 s", shakeCase{asLogged, interarrivals(300, 0, 1), surfaceRuns}},
		{"and by at most 10 %", shakeCase{asLogged, interarrivals(300, .1, 1), surfaceRuns}},
		{"all jobs by up to 300 s" + asGiven, shakeCase{asLogged + asGiven, interarrivals(300, 0, 1), surfaceRuns}},
	}
}

// ouaknineName is the name of the thesis in the overview.
const ouaknineName = "Ouaknine 2007"

// surfaceRuns is the number of runs for each point of the surfaces in chapter 5.
const surfaceRuns = 60

// degrees and fractions return the values for which the surfaces of the thesis are drawn (section 5.2): degrees of
// shaking in seconds, and shares of the jobs.
func degrees() []float64   { return []float64{1, 10, 30, 60, 300} }
func fractions() []float64 { return []float64{.01, .03, .1, .3, 1} }

// attributes returns shakings of each attribute: times by up to 60 s, and sizes by a number of processors.
func attributes() []shake.Config {
	return []shake.Config{
		{Attribute: shake.Interarrival, Level: shake.Jobs, Degree: 60},
		{Attribute: shake.Runtime, Level: shake.Jobs, Degree: 60},
		{Attribute: shake.Estimate, Level: shake.Jobs, Degree: 60},
		{Attribute: shake.Size, Level: shake.Jobs, Degree: 1},
		{Attribute: shake.Interarrival, Level: shake.Jobs, Degree: 60, Relative: .1},
		{Attribute: shake.Runtime, Level: shake.Jobs, Degree: 60, Relative: .1},
		{Attribute: shake.Estimate, Level: shake.Jobs, Degree: 60, Relative: .1},
		{Attribute: shake.Size, Level: shake.Jobs, Degree: 5, Relative: .1},
		{Attribute: shake.Interarrival, Level: shake.Sessions, Degree: 60},
		{Attribute: shake.Interarrival, Level: shake.Users, Degree: 60},
	}
}

// ouaknine makes the section on the reproducible parts of Ouaknine 2007 on SDSC-SP2.
func (d *Data) ouaknine() (Section, error) {
	s := Section{
		Title: "Ouaknine 2007: shaking", Paper: ouaknineName,
		NotAttempted: []string{"the logs CTC and BLUE of chapter 5", "the curves of 10 hours' shaking (Figures 6.2 " +
			"to 6.4)"},
		Intro: "K. Ouaknine, \"Reducing performance evaluation sensitivity and variability by input shaking\", M.Sc. " +
			"thesis, The Hebrew University, 2007. SDSC-SP2-1998-4.2-cln under EASY; mean bounded slowdown, max(1, " +
			"(wait + runtime) / max(10, runtime)), " +
			"of the jobs that ran. The thesis has another version of the log (its slowdown is 88.15) and another " +
			"simulator, and does not say how it reads jobs that ran longer than their limits. Here their estimates " +
			"are raised to the runtime; " +
			"*limits as given* keeps them, and such a job overruns its reservation. Figures of shaken runs are kept " +
			"in `papers/shaken.csv`. Tables 6.3 and 6.4 carry misprints (1865 for 18653, a difference of 8.31 % " +
			"printed " +
			"again where the numbers give 2.8 %): they are reported only.",
	}
	outcomes, err := d.shaken(shakings())
	var missing *MissingError
	if errors.As(err, &missing) {
		s.Missing = append(s.Missing, err.Error())
		return s, nil
	} else if err != nil {
		return s, err
	}
	o := shakenTables{d, outcomes}
	return s, s.gather(o.singles, o.table61, o.table62, o.waits, o.section62, d.predictionWindow,
		d.badnessFactor, o.ranges,
		o.byAttribute, o.surface)
}

// shakenTables makes the tables of the thesis from the outcomes of the cases, by key.
type shakenTables struct {
	*Data
	outcomes map[string]outcome
}

// of returns the outcome of a case. The error is a MissingError if the case was not simulated.
func (o *shakenTables) of(state string, cfg shake.Config, runs int) (outcome, error) {
	c := shakeCase{state, cfg, runs}
	out, ok := o.outcomes[fmt.Sprint(c.key())]
	if !ok {
		return out, &MissingError{fmt.Sprintf("%s: the case %q", shakenFile, c.key()), true}
	}
	return out, nil
}

func (o *shakenTables) singles() (Table, error) {
	t := Table{Title: "Sections 6.1 and 6.2: effects in a single run", Standing: NotReproduced}
	for _, reading := range []string{"", asGiven} {
		var base float64
		for _, state := range []string{asLogged, cutOff, reversed} {
			jobs, procs, err := o.sdscJobs(state + reading)
			if err != nil {
				return t, err
			}
			means, err := ouaknine.Simulate(jobs, procs)
			if err != nil {
				return t, err
			}
			slowdown := means.Slowdown
			if state == asLogged {
				base = slowdown
				t.note("the log itself"+reading, number(slowdown, 2), "88.15", "")
				continue
			}
			t.note(map[string]string{cutOff: "without the 30 s of job 64241",
				reversed: "simultaneous arrivals reversed"}[state]+reading,
				fmt.Sprintf("%.2f, %+.2f %%", slowdown, 100*(slowdown/base-1)),
				map[string]string{cutOff: "81.38, -7.7 % (printed as 8.31 %)", reversed: "6.7 %"}[state],
				map[string]string{cutOff: "none", cutOff + asGiven: "-3.4 to +2.9 %, by the reading",
					reversed: "-1.1 to +2.2 %, by the reading"}[state+reading])
		}
	}
	t.because("The size and the sign of a single effect depend on how the log is read, which is the very point of " +
		"the thesis: it is an accident of one workload. In ours the 30 s change " +
		"nothing in either reading. What can be " +
		"repeated is that shaking removes the effect of the reversed order.")
	return t, nil
}

// pair adds a row that compares the means of shaken runs of the log in two states, asLogged and other. The relative
// difference of the means must be at most bound. If bound is 0, there is no promise.
func (o *shakenTables) pair(t *Table, what, other, reading string, cfg shake.Config, paper string,
	bound float64) error {
	a, err := o.of(asLogged+reading, cfg, shake.DefaultRuns)
	if err != nil {
		return err
	}
	b, err := o.of(other+reading, cfg, shake.DefaultRuns)
	if err != nil {
		return err
	}
	gap := b.slowdown.Mean/a.slowdown.Mean - 1
	ours := fmt.Sprintf("%.2f and %.2f, %+.2f %%", a.slowdown.Mean, b.slowdown.Mean, 100*gap)
	if bound == 0 {
		se := math.Hypot(a.slowdown.SD, b.slowdown.SD) / math.Sqrt(shake.DefaultRuns) / a.slowdown.Mean
		t.note(what, fmt.Sprintf("%s (standard error %.2f %%)", ours, 100*se), paper, "")
		return nil
	}
	t.promise(Paper, what, ours, paper, "", fmt.Sprintf("within %g %%", math.Round(1e4*bound)/100),
		math.Abs(gap) <= bound)
	return nil
}

func (o *shakenTables) table61() (Table, error) {
	t := Table{Title: "Table 6.1: with and without the 30 s, absolute shaking of all jobs", Standing: NotReproduced}
	for _, c := range []struct {
		degree float64
		what   string
		paper  string
	}{
		{60, "1 minute", "88.57 and 88.28, .3 %"}, {300, "5 minutes", "90.48 and 90.57, .09 %"},
		{900, "15 minutes", "91.66 and 91.33, .3 %"},
	} {
		if err := o.pair(&t, "means of 100 runs, up to "+c.what, cutOff, "", interarrivals(c.degree, 0, 1), c.paper,
			0); err != nil {
			return t, err
		}
	}
	if err := o.pair(&t, "the same, 1 minute"+asGiven, cutOff, asGiven, interarrivals(60, 0, 1), "", 0); err != nil {
		return t, err
	}
	t.because("Unshaken the 30 s change the slowdown by 0.00 %% here, so that there is no effect that shaking could " +
		"remove: these rows show nothing, and nothing is promised of them. Both states are shaken with the same " +
		"seeds, " +
		"as pairs. With limits as given results vary by 4 %%, so " +
		"that the means of 100 runs cannot be expected to be nearer than their standard error.")
	return t, nil
}

func (o *shakenTables) table62() (Table, error) {
	t := Table{Title: "Table 6.2: with and without the 30 s, relative shaking of all jobs", Standing: NotReproduced}
	for _, c := range []struct {
		degree      float64
		what, paper string
	}{
		{60, "1 minute", "86.82 and 86.62, .23 %"}, {300, "5 minutes", "86.99 and 87.01, .02 %"},
		{900, "15 minutes", "87.04 and 86.91, .14 %"},
	} {
		if err := o.pair(&t, "means of 100 runs, up to "+c.what, cutOff, "", interarrivals(c.degree, .1, 1), c.paper,
			0); err != nil {
			return t, err
		}
	}
	t.because("The thesis does not print its relative percentage; 10 %% here, as in its example of section 4.2.3.")
	return t, nil
}

func (o *shakenTables) section62() (Table, error) {
	t := Table{Title: "Section 6.2: the order of simultaneous arrivals", Standing: UnderReading}
	err := o.pair(&t, "means of 100 runs, up to 5 minutes", reversed, "", interarrivals(300, 0, 1), ".47 %", .007)
	if err == nil {
		err = o.pair(&t, "the same"+asGiven, reversed, asGiven, interarrivals(300, 0, 1), "", 0)
	}
	t.choose("estimates below the runtime are raised to it, where the order changes the unshaken slowdown by 2.2 %% " +
		"and " +
		"the shaken one by 0.12 %%. With limits as given it is 1.1 and -0.73 %%, of a standard error of 0.60 %%. The " +
		"unshaken effect of the thesis, 6.7 %%, comes out by neither.")
	return t, err
}

// waits makes Tables 6.3 and 6.4: mean waits with and without the 30 s of one job.
func (o *shakenTables) waits() (Table, error) {
	t := Table{Title: "Tables 6.3 and 6.4: mean waits with and without the 30 s", Standing: NotReproduced}
	for _, c := range []struct {
		relative, degree float64
		what, paper      string
	}{
		{0, 60, "absolute shaking, 1 minute", "18895 and 18873, .1 %"},
		{0, 300, "absolute shaking, 5 minutes", "19014 and 19021, .03 %"},
		{0, 900, "absolute shaking, 15 minutes", "19247 and 19220, .01 %"},
		{.1, 60, "relative shaking, 1 minute", "18646 and 18621, .01 %"},
		{.1, 300, "relative shaking, 5 minutes", "18696 and 18695, .005 %"},
		{.1, 900, "relative shaking, 15 minutes", "18745 and 18732, .06 %"},
	} {
		cfg := interarrivals(c.degree, c.relative, 1)
		a, err := o.of(asLogged, cfg, shake.DefaultRuns)
		if err != nil {
			return t, err
		}
		b, err := o.of(cutOff, cfg, shake.DefaultRuns)
		if err != nil {
			return t, err
		}
		if len(t.Rows) == 0 {
			t.note("the log itself", fmt.Sprintf("%.0f s and %.0f s, %+.2f %%", a.wait.Original, b.wait.Original,
				100*(b.wait.Original/a.wait.Original-1)), "18653 and 18130 s, 2.8 %", "")
		}
		t.note(c.what, fmt.Sprintf("%.0f s and %.0f s, %+.2f %%", a.wait.Mean, b.wait.Mean,
			100*(b.wait.Mean/a.wait.Mean-1)), c.paper, "")
	}
	t.because("Reported only, for the misprints; and the 30 s have no effect here.")
	return t, nil
}

func (o *shakenTables) ranges() (Table, error) {
	t := Table{Title: "Figures 5.1 and 5.2: ranges of 60 shaken runs, interarrival times by up to 60 s",
		Standing: UnderReading}
	for _, c := range []struct {
		fraction, low, high float64
		paper               string
	}{
		{.01, .95, 1.08, "98 to 105 %"}, {.1, .94, 1.15, "96 to 112 %"},
		{1, 0, 0, "no larger span, further from the original"},
	} {
		r, err := o.of(asLogged, interarrivals(60, 0, c.fraction), surfaceRuns)
		if err != nil {
			return t, err
		}
		s := &r.slowdown
		low, high := s.Min/s.Original, s.Max/s.Original
		what, ours := fmt.Sprintf("%g %% of the jobs: least and greatest, mean, of the unshaken", 100*c.fraction),
			fmt.Sprintf("%.1f to %.1f %%, mean %.1f %%", 100*low, 100*high, 100*s.Mean/s.Original)
		if c.low == 0 {
			t.note(what, ours, c.paper, "")
			continue
		}
		t.promise(Paper, what, ours, c.paper, "", fmt.Sprintf("every run within %.0f to %.0f "+
			"%%", 100*c.low, 100*c.high),
			low >= c.low && high <= c.high)
	}
	t.because("The bounds are the ranges of the thesis with the slack that another version of the log needs.")
	return t, nil
}

func (o *shakenTables) byAttribute() (Table, error) {
	t := Table{
		Title: "Figures 5.3 to 5.10: span, distance and concentration by attribute, 60 runs each",
		Header: []string{"shaken", "share", "slowdown: span", "distance", "concentration", "wait: span", "distance",
			"concentration"},
	}
	for _, cfg := range attributes() {
		name := fmt.Sprintf("%s, up to %g s", cfg.Attribute, cfg.Degree)
		if cfg.Attribute == shake.Size {
			name = fmt.Sprintf("size, up to %g processors", cfg.Degree)
		}
		if cfg.Relative > 0 {
			name += fmt.Sprintf(" and %g %%", 100*cfg.Relative)
		}
		if cfg.Level != shake.Jobs {
			name += fmt.Sprintf(", by %s", cfg.Level)
		}
		for _, cfg.Fraction = range []float64{.01, .1, 1} {
			r, err := o.of(asLogged, cfg, surfaceRuns)
			if err != nil {
				return t, err
			}
			cells := []string{name, fmt.Sprintf("%g %%", 100*cfg.Fraction)}
			for _, s := range []*spread{&r.slowdown, &r.wait} {
				cells = append(cells, fmt.Sprintf("%.1f %%", 100*s.Span), percent(s.Distance),
					fmt.Sprintf("%.0f %%", 100*s.Concentration))
			}
			t.Cells = append(t.Cells, cells)
		}
	}
	t.because("Span: from the 5th to the 95th percentile; distance: of the mean; concentration: share of the runs " +
		"within 1 %% of the unshaken result. The thesis shows them as surfaces without numbers, " +
		"and as general results that span and " +
		"distance grow with stronger shaking, and that estimates matter less than arrivals. Absolute shaking of all " +
		"runtimes by up to 60 s makes other jobs of the shortest ones and moves the bounded slowdown most: " +
		"the thesis recommends " +
		"relative shaking. Sessions and users as units are proposals of Zakay and Feitelson (2013, section 6.5.3).")
	return t, nil
}

func (o *shakenTables) surface() (Table, error) {
	t := Table{
		Title:  "Figures 5.5 and 5.9 (a): span of the slowdown, concentration of the wait; interarrival times, 60 runs",
		Header: []string{"span by degree"}, Standing: NotReproduced,
	}
	for _, fraction := range fractions() {
		t.Header = append(t.Header, fmt.Sprintf("%g %% of the jobs", 100*fraction))
	}
	for _, degree := range degrees() {
		cells := []string{fmt.Sprintf("%g s", degree)}
		for _, fraction := range fractions() {
			r, err := o.of(asLogged, interarrivals(degree, 0, fraction), surfaceRuns)
			if err != nil {
				return t, err
			}
			cells = append(cells, fmt.Sprintf("%.1f %%", 100*r.slowdown.Span))
		}
		t.Cells = append(t.Cells, cells)
	}
	for i, c := range concentrations() {
		r, err := o.of(c.state, c.cfg, surfaceRuns)
		if err != nil {
			return t, err
		}
		got := r.wait.Concentration
		ours := fmt.Sprintf("%.0f %% (mean %+.1f %%, deviation %.1f %%)", 100*got, 100*r.wait.Distance,
			100*r.wait.SD/r.wait.Original)
		if i > 0 {
			t.note("the same, "+c.what, ours, "", "")
			continue
		}
		t.promise(Paper, "concentration of the wait, "+c.what, ours, "65 %", "", "within 10 points",
			math.Abs(got-.65) <= .1)
	}
	t.because("Why the concentration differs is not known. It is no matter of the number of runs: the shaken waits " +
		"lie " +
		"about a mean that is more than 1 %% off the unshaken result, and spread by more than 1 %%, so that no 65 %% " +
		"of " +
		"them can lie within 1 %% of it. The two other readings of the rows do not bring it to 65 %% either. What is " +
		"left is the version of the log (79,302 jobs there, 54,034 that ran here) and the simulator.")
	t.because("The thesis reads from its surface that 10 %% of the jobs and 10 to 30 s are needed for a real effect, " +
		"and that more makes no difference.")
	return t, nil
}
