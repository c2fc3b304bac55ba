package offline

import (
	"fmt"
	"math"
	"strconv"

	"github.com/waitcast/waitcast/cmd/waitcast/console"
)

// offered describes the load of a workload.
type offered struct {
	Jobs int `json:"jobs"`
	// Load is the work of the jobs divided by the capacity of the machine between the first and the last submission
	// (simulator.OfferedLoad). It is 0 if the size of the machine is unknown.
	Load float64 `json:"offered_load"`
	// JobsPerDay is the number of jobs per day between the first submission and the last. MeanWork is in processor
	// seconds per job.
	JobsPerDay float64 `json:"jobs_per_day"`
	MeanWork   float64 `json:"mean_work_procsec"`
}

// loadMeter measures the load of a workload job by job.
type loadMeter struct {
	procs             int // processors of the machine; 0 if unknown
	jobs              int
	first, last, work float64
}

func (m *loadMeter) add(submit, runtime float64, procs int) {
	if m.jobs == 0 {
		m.first, m.last = submit, submit
	}
	m.first, m.last = min(m.first, submit), max(m.last, submit)
	m.jobs++
	m.work += runtime * float64(procs)
}

func (m *loadMeter) result() offered {
	o := offered{Jobs: m.jobs}
	if m.jobs == 0 {
		return o
	}
	o.MeanWork = m.work / float64(m.jobs)
	if span := m.last - m.first; span > 0 {
		o.JobsPerDay = float64(m.jobs-1) / span * 86400
		if m.procs > 0 {
			o.Load = m.work / span / float64(m.procs)
		}
	}
	return o
}

// offeredBy measures the load of a recording on a machine with procs processors.
func offeredBy(r *recording, procs int) offered {
	m := loadMeter{procs: procs}
	for i := range r.records {
		rec := &r.records[i]
		m.add(float64(rec.Submit), float64(rec.Runtime), int(rec.Procs()))
	}
	return m.result()
}

// otherLoad is a relative difference in load. If the loads of a workload and its original differ by more, the
// commands warn.
const otherLoad = .15

// beside describes the load of a workload next to the load of its original, like, which may be nil. differ is true if
// one of the three figures (load, jobs per day, work per job) differs by more than otherLoad.
func (o *offered) beside(like *offered) (text string, differ bool) {
	item := func(what string, value float64, of func(*offered) float64) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf(what, three(value))
		if like == nil || of(like) == 0 {
			return
		}
		by := value/of(like) - 1
		text += fmt.Sprintf(" (recorded %s, %+.0f %%)", three(of(like)), 100*by)
		differ = differ || math.Abs(by) > otherLoad
	}
	if o.Load > 0 {
		item("offered load %s", o.Load, func(o *offered) float64 { return o.Load })
	}
	if o.JobsPerDay > 0 {
		item("%s jobs a day", o.JobsPerDay, func(o *offered) float64 { return o.JobsPerDay })
	}
	item("%s processor hours a job", o.MeanWork/3600, func(o *offered) float64 { return o.MeanWork / 3600 })
	return text, differ
}

// three formats a number with three significant digits and without an exponent.
func three(x float64) string {
	if x == 0 {
		return "0"
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	scale := math.Pow(10, float64(digits))
	return strconv.FormatFloat(math.Round(x*scale)/scale, 'f', max(0, digits), 64)
}

// loadFlag is the load that a generated workload should have. It is unset, the load of the original, or a number.
type loadFlag struct {
	same bool
	load float64
}

// Set implements pflag.Value.
func (l *loadFlag) Set(text string) error {
	if text == "same" {
		*l = loadFlag{same: true}
		return nil
	}
	x, err := console.ParseNumber(text)
	if err != nil || !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("%q is none: write same, or a load above 0, as in 0.7", text)
	}
	*l = loadFlag{load: x}
	return nil
}

// String implements pflag.Value.
func (l *loadFlag) String() string {
	switch {
	case l.same:
		return "same"
	case l.load > 0:
		return strconv.FormatFloat(l.load, 'g', -1, 64)
	}
	return ""
}

// Type implements pflag.Value.
func (*loadFlag) Type() string { return "load" }

// isSet reports whether a load is requested.
func (l *loadFlag) isSet() bool { return l.same || l.load > 0 }
