package papers

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/compare"
	"github.com/waitcast/waitcast/workload/users"
)

// zakay makes the section on those parts of Zakay and Feitelson 2013 that the logs at hand allow.
func (d *Data) zakay() (Section, error) {
	s := Section{
		Title: "Zakay and Feitelson 2013: resampling by users", Paper: "Zakay and Feitelson 2013",
		NotAttempted: []string{"the other logs of Tables I to VII (SDSC-BLUE, HPC2N, SDSC-DS, ANL-Intrepid, " +
			"CEA-Curie), which are not at hand", "the marginal distributions (section 5.1)", "performance figures " +
			"(sections 6.1 and 6.3)", "the figures"},
		Intro: "N. Zakay and D. G. Feitelson, \"Workload resampling for performance evaluation of parallel job " +
			"schedulers\", Concurrency and Computation 2013. Jobs with processors above 0 and runtimes of at least 0 " +
			"count; a user ends with the " +
			"end of the last job to end; the log begins at the header's time.",
	}
	tables := []func() (Table, error){d.zakayTable1}
	for _, t := range sessionTables() {
		tables = append(tables, func() (Table, error) { return d.zakaySessions(&t) })
	}
	return s, s.gather(append(tables, d.zakayTable5, d.zakayTable6, d.zakayTable7, d.zakayLoads)...)
}

// poolCount is a number of users and of their jobs.
type poolCount struct{ users, jobs int }

// String returns the two numbers, separated by a comma.
func (p poolCount) String() string { return fmt.Sprintf("%d, %d", p.users, p.jobs) }

// zakayLog has the rows of one log in the tables of the paper.
type zakayLog struct {
	name, label, version  string
	users, jobs           int // Table I
	longTerm, temporary   poolCount
	with8                 poolCount  // temporary users by an independent program; zero if it was not run
	locality, resampled   [3]float64 // Table VI: runtime, max runtime, CPU number
	localityBound         float64
	hurst, hurstResampled float64 // Table VII
	hurstSD               string
}

func zakayLogs() []zakayLog {
	return []zakayLog{
		{
			name: kth, label: "KTH", version: "KTH-SP2-1996-2", users: 214, jobs: 28489,
			longTerm: poolCount{102, 25202}, temporary: poolCount{66, 2349},
			with8: poolCount{67, 2357}, locality: [3]float64{35.25, 6.46, 3.83},
			resampled: [3]float64{35.03, 6.42, 3.87}, localityBound: .015, hurst: .666, hurstResampled: .648,
			hurstSD: ".040",
		},
		{
			name: ctc, label: "CTC", version: "CTC-SP2-1996-2.1-cln", users: 679, jobs: 77222,
			longTerm: poolCount{314, 63287}, temporary: poolCount{236, 10625},
			locality: [3]float64{28.01, 4.51, 3.44}, resampled: [3]float64{27.72, 4.33, 3.35}, localityBound: .015,
			hurst: .617, hurstResampled: .620, hurstSD: ".059",
		},
		{
			name: lanl, label: "LANL", version: "LANL-CM5-1994-3.1-cln", users: 213, jobs: 122060,
			longTerm: poolCount{159, 119998}, temporary: poolCount{37, 1727},
			with8: poolCount{39, 1739}, locality: [3]float64{36.01, 2.53, 1.15},
			resampled: [3]float64{36.97, 2.51, 1.08}, localityBound: .05, hurst: .690, hurstResampled: .679,
			hurstSD: ".043",
		},
		{
			name: sdsc, label: "SDSC-SP2", version: "SDSC-SP2-1998-3.1-cln", users: 437, jobs: 59725,
			longTerm: poolCount{173, 44251}, temporary: poolCount{206, 8790},
			locality: [3]float64{25.13, 4.09, 2.89}, resampled: [3]float64{24.48, 3.96, 2.79}, localityBound: .015,
			hurst: .638, hurstResampled: .715, hurstSD: ".028",
		},
	}
}

func (d *Data) zakayTable1() (Table, error) {
	t := Table{Title: "Table I: the logs"}
	for _, log := range zakayLogs() {
		l, err := d.log(log.name)
		if err != nil {
			return t, err
		}
		people := map[int64]bool{}
		for i := range l.records {
			people[l.records[i].User] = true
		}
		t.note(log.label+": version, users, jobs", fmt.Sprintf("%s, %d, %d", log.name, len(people), len(l.records)),
			fmt.Sprintf("%s, %d, %d", log.version, log.users, log.jobs), "")
	}
	t.because("The archive's later versions of the same logs: what differs below by a few jobs differs for that.")
	return t, nil
}

// near reports whether two counts are nearly equal: the users differ by at most 1, and the jobs by at most 0.15 %.
func near(got, want poolCount) bool {
	return math.Abs(float64(got.users-want.users)) <= 1 && math.Abs(float64(got.jobs)/float64(want.jobs)-1) <= .0015
}

func (d *Data) zakayTable5() (Table, error) {
	t := Table{Title: "Table V: long-term and temporary users", Standing: UnderReading}
	count := func(pool []*users.User) (p poolCount) {
		for _, u := range pool {
			p.users++
			p.jobs += len(u.Jobs)
		}
		return p
	}
	for _, log := range zakayLogs() {
		l, err := d.log(log.name)
		if err != nil {
			return t, err
		}
		for _, edge := range []float64{4, 8} {
			p, err := users.Split(l.trace(log.name), users.Options{Edge: edge})
			if err != nil {
				return t, err
			}
			if edge == 4 {
				got := count(p.LongTerm)
				t.promise(Paper, log.label+": long-term users, jobs", got.String(), log.longTerm.String(), "",
					"users within 1, jobs within .15 %", near(got, log.longTerm))
			}
			got, what := count(p.Temporary),
				fmt.Sprintf("%s: temporary users, jobs, %.0f weeks from both ends", log.label, edge)
			if want := log.with8; edge == 8 && want.users > 0 {
				t.promise(Program, what, got.String(), log.temporary.String(), want.String(),
					"the independent ones: users within 1, jobs within .15 %", near(got, want))
			} else {
				t.note(what, got.String(), log.temporary.String(), "")
			}
		}
	}
	t.choose("8 weeks from both ends in the rows of temporary users. By the text's 4 weeks they have 8 to 31 %% more " +
		"jobs than the table, by 8 weeks up to 4 %% more.")
	t.because("The long-term rows follow from the paper's text, once jobs that never ran are left out. The temporary " +
		"ones do not: the text drops users who were active within 4 weeks of an end of the log only, but its table " +
		"is near what 8 weeks give. " +
		"8 is the default here, and an option.")
	return t, nil
}

// character has the measures of one workload: the localities of Table VI (of runtime, max runtime and CPU number), and
// the Hurst parameter of Table VII.
type character struct {
	depths [3]float64
	hurst  float64
}

func measure(jobs []users.Job, from float64) (c character, err error) {
	var columns [3][]float64
	var submit []float64
	for i := range jobs {
		j := &jobs[i]
		if j.Procs <= 0 || j.Runtime < 0 {
			continue
		}
		for k, x := range []float64{j.Runtime, j.Estimate, float64(j.Procs)} {
			columns[k] = append(columns[k], x)
		}
		submit = append(submit, j.Submit)
	}
	for k, tolerance := range []float64{compare.DefaultTolerance, compare.DefaultTolerance, 0} {
		l, err := compare.StackDepth(columns[k], tolerance)
		if err != nil {
			return c, err
		}
		c.depths[k] = l.Depth
	}
	counts, err := compare.Counts(submit, from, compare.HurstBin)
	if err != nil {
		return c, err
	}
	h, err := compare.Hurst(counts, compare.HurstOptions{})
	c.hurst = h.H
	return c, err
}

// resampled has the character of a log, and the characters of eight workloads that were resampled from it.
type resampled struct {
	original character
	of       []character
}

// resample returns the characters of a log and of the workloads resampled from it. The first call computes them.
func (d *Data) resample(name string) (r resampled, err error) {
	if r, ok := d.resamples[name]; ok {
		return r, nil
	}
	l, err := d.log(name)
	if err != nil {
		return r, err
	}
	trace := l.trace(name)
	if r.original, err = measure(trace.Jobs, 0); err != nil {
		return r, err
	}
	p, err := users.Split(trace, users.Options{})
	if err != nil {
		return r, err
	}
	for seed := range uint64(8) {
		g, err := users.NewGenerator(users.Config{Seed: seed}, users.Source{Pools: p})
		if err != nil {
			return r, err
		}
		var jobs []users.Job
		for a := range g.All() {
			jobs = append(jobs, a.Job)
		}
		c, err := measure(jobs, p.Start)
		if err != nil {
			return r, err
		}
		r.of = append(r.of, c)
	}
	if d.resamples == nil {
		d.resamples = map[string]resampled{}
	}
	d.resamples[name] = r
	return r, nil
}

// over returns the mean and the standard deviation, over the resampled workloads, of the value that f returns.
func (r *resampled) over(f func(character) float64) (mean, sd float64) {
	values := make([]float64, len(r.of))
	for i, c := range r.of {
		values[i] = f(c)
	}
	return stat.MeanStdDev(values, nil)
}

func (d *Data) zakayTable6() (Table, error) {
	t := Table{Title: "Table VI: locality by stack depth", Standing: UnderReading}
	for _, log := range zakayLogs() {
		r, err := d.resample(log.name)
		if err != nil {
			return t, err
		}
		for k, what := range []string{"runtime", "max runtime", "CPU number"} {
			got, want := r.original.depths[k], log.locality[k]
			t.promise(Paper, fmt.Sprintf("%s: %s, original", log.label, what), number(got, 2), number(want, 2), "",
				fmt.Sprintf("within %g %%", 100*log.localityBound), math.Abs(got/want-1) <= log.localityBound)
			mean, sd := r.over(func(c character) float64 { return c.depths[k] })
			t.promise(Paper, fmt.Sprintf("%s: %s, mean of 8 resampled", log.label, what),
				fmt.Sprintf("%.2f +- %.2f", mean, sd), number(log.resampled[k], 2), "", "within 7 %",
				math.Abs(mean/log.resampled[k]-1) <= .07)
		}
	}
	if err := d.depthReadings(&t); err != nil {
		return t, err
	}
	t.because("Where the paper is silent: the tolerance of 5 %% is of the stack's value, which moves up unchanged; " +
		"depths count from 0, and their mean is over hits; the processors are those allocated. " +
		"By these the paper's originals come out.")
	return t, nil
}

func (d *Data) zakayTable7() (Table, error) {
	t := Table{Title: "Table VII: Hurst parameters", Standing: UnderReading}
	for _, log := range zakayLogs() {
		r, err := d.resample(log.name)
		if err != nil {
			return t, err
		}
		t.promise(Paper, log.label+": original", number(r.original.hurst, 3), number(log.hurst, 3), "", "within .07",
			math.Abs(r.original.hurst-log.hurst) <= .07)
		mean, sd := r.over(func(c character) float64 { return c.hurst })
		t.promise(Paper, log.label+": mean of 8 resampled", fmt.Sprintf("%.3f +- %.3f", mean, sd),
			number(log.hurstResampled, 3)+" +- "+log.hurstSD, "", "within .07",
			math.Abs(mean-log.hurstResampled) <= .07)
	}
	if err := d.hurstReadings(&t); err != nil {
		return t, err
	}
	t.because("The paper does not give the width of its bins, \"where there are enough samples so that most " +
		"intervals are not empty\"; 3 h here, of 2 to 6 h the nearest.")
	return t, nil
}

func (d *Data) zakayLoads() (Table, error) {
	t := Table{Title: "Section 6.3: other loads, by the number of users"}
	for _, c := range []struct {
		name, label string
		factor      float64
	}{{kth, "KTH", 1}, {kth, "KTH", 1.3}, {saliksik, "Saliksik", 2}} {
		l, err := d.log(c.name)
		if err != nil {
			return t, err
		}
		p, err := users.Split(l.trace(c.name), users.Options{})
		if err != nil {
			return t, err
		}
		capacity := float64(l.header.MaxProcs) * (p.End - p.Start)
		loads := make([]float64, 8)
		worst, target := 0., c.factor*l.work()/capacity
		for seed := range loads {
			g, err := users.NewGenerator(users.Config{Seed: uint64(seed), Load: c.factor}, users.Source{Pools: p})
			if err != nil {
				return t, err
			}
			for a := range g.All() {
				loads[seed] += float64(a.Procs) * a.Runtime / capacity
			}
			worst = max(worst, math.Abs(loads[seed]/target-1))
		}
		mean, sd := stat.MeanStdDev(loads, nil)
		t.promise(Self, fmt.Sprintf("%s x %v: offered load of 8 seeds, target %.3f", c.label, c.factor, target),
			fmt.Sprintf("%.3f +- %.3f, worst %.1f %% off", mean, sd, 100*worst), "", "",
			"every seed within 10 %", worst <= .1)
	}
	return t, nil
}

// work returns the processor-seconds of the jobs that count.
func (l *tracelog) work() (sum float64) {
	for i := range l.records {
		if r := &l.records[i]; counts(r) {
			sum += float64(r.Allocated) * float64(r.Runtime)
		}
	}
	return sum
}

// counts reports whether a job counts in the tables of Zakay: it has processors, and its runtime is known.
func counts(r *swf.Record) bool { return r.Allocated > 0 && r.Runtime >= 0 }
