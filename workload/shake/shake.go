// Package shake changes a workload slightly, many times. The results show whether an effect in one simulation is real
// or depends on details of that one workload (K. Ouaknine, "Reducing performance evaluation sensitivity and
// variability by input shaking", M.Sc. thesis, The Hebrew University 2007; called "the thesis" below).
//
// A [Shaker] changes one attribute of some of the jobs: new = original +- min(degree, share x original) x rand
// (equations 4.2 and 4.3). It changes single jobs as in the thesis, or the jobs of a session or of a user together,
// as a later paper proposes (N. Zakay and D. Feitelson 2013, section 6.5.3). [Runs] simulates many shaken workloads
// in parallel. [Summarize] compares their results with the result of the original workload.
package shake

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/waitcast/waitcast/workload/users"
)

// Attribute is the attribute of jobs that is shaken.
type Attribute uint8

// These are the attributes, the one with the weakest effect first (section 4.2.1 of the thesis).
const (
	// the change is added to the original arrival time, so that changes do not add up; the order of jobs may change
	Interarrival Attribute = iota + 1
	Runtime
	Estimate
	Size // processors
)

// String returns the attribute as a word.
func (a Attribute) String() string {
	switch a {
	case Interarrival:
		return "interarrival"
	case Runtime:
		return "runtime"
	case Estimate:
		return "estimate"
	case Size:
		return "size"
	}
	return fmt.Sprintf("attribute %d", a)
}

// ParseAttribute returns the attribute with a name that String returns.
func ParseAttribute(name string) (Attribute, error) {
	for a := Interarrival; a <= Size; a++ {
		if a.String() == name {
			return a, nil
		}
	}
	return 0, fmt.Errorf("attribute %q; want interarrival, runtime, estimate or size", name)
}

// Level defines which jobs are shaken together.
type Level uint8

// These are the levels. All jobs of a session, or of a user, have the same selection, direction and rand. Their
// arrivals move by the same time, so that their own order and intervals stay unchanged.
const (
	Jobs Level = iota + 1
	Sessions
	Users
)

// String returns the level as a word.
func (l Level) String() string {
	switch l {
	case Jobs:
		return "job"
	case Sessions:
		return "session"
	case Users:
		return "user"
	}
	return fmt.Sprintf("level %d", l)
}

// ParseLevel is the inverse of String: it returns the level with this name.
func ParseLevel(name string) (Level, error) {
	for l := Jobs; l <= Users; l++ {
		if l.String() == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("level %q; want job, session or user", name)
}

// Config defines how to shake.
type Config struct {
	Attribute Attribute
	Level     Level   // 0 means Jobs
	Degree    float64 // maximum change in seconds; for Size in processors

	// Relative limits the change to this share of the original value, for example 0.1; 0 means no such limit. The
	// thesis recommends such a limit, because results then depend less on the degree. For interarrival times the value
	// is the time since an earlier arrival: since the previous arrival for a job, since the user's previous job for a
	// session, and since the log's first arrival for a user.
	Relative float64

	Fraction float64 // share of the jobs, sessions or users that are shaken, selected at random; above 0, up to 1
	MaxProcs int     // maximum size; 0 means no limit
	Gap      float64 // seconds between two submissions that end a session; 0 means users.SessionGap
}

// Default returns the weakest shaking for which the thesis found an effect (section 5.3). It changes the interarrival
// times of a tenth of the jobs by up to 60 s.
func Default() Config {
	return Config{Attribute: Interarrival, Level: Jobs, Degree: 60, Fraction: .1}
}

// validate checks the settings and sets the level.
func (c *Config) validate() error {
	if c.Level == 0 {
		c.Level = Jobs
	}
	switch {
	case c.Attribute < Interarrival || c.Attribute > Size:
		return fmt.Errorf("shake: unknown %v", c.Attribute)
	case c.Level > Users:
		return fmt.Errorf("shake: unknown %v", c.Level)
	case !(c.Degree > 0) || math.IsInf(c.Degree, 1):
		return fmt.Errorf("shake: degree %v; want a number above 0 (seconds, or processors)", c.Degree)
	case !(c.Relative >= 0) || math.IsInf(c.Relative, 1):
		return fmt.Errorf("shake: relative limit %v; want a share as .1, or 0 for none", c.Relative)
	case !(c.Fraction > 0 && c.Fraction <= 1):
		return fmt.Errorf("shake: fraction %v of the jobs; want above 0, up to 1", c.Fraction)
	}
	return nil
}

// Shaker makes shaken copies of one workload. Several goroutines may use it at once.
type Shaker struct {
	cfg  Config
	jobs []users.Job
	// Group of each job; the jobs of a group are shaken together; nil if each job is a group of its own.
	group  []int
	since  []float64 // interarrival time of each group
	groups int
}

// New returns a shaker of jobs. They must be in order of submission, and are not changed. Unknown values (a negative
// runtime, an estimate of at most 0) are never shaken.
func New(jobs []users.Job, cfg Config) (*Shaker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, errors.New("shake: no jobs")
	}
	s := &Shaker{cfg: cfg, jobs: jobs, groups: len(jobs)}
	for i := range jobs {
		if math.IsNaN(jobs[i].Submit) || i > 0 && jobs[i].Submit < jobs[i-1].Submit {
			return nil, fmt.Errorf("shake: job %d (record %d) is submitted at %v, the one before at %v; sort them",
				i, jobs[i].Index, jobs[i].Submit, jobs[max(i-1, 0)].Submit)
		}
	}
	switch cfg.Level {
	case Sessions:
		s.group = users.SessionNumbers(jobs, cfg.Gap)
	case Users:
		s.group = userNumbers(jobs)
	}
	s.measure()
	return s, nil
}

// userNumbers returns the number of each job's user, counted from 0 in the order of first submissions.
func userNumbers(jobs []users.Job) []int {
	numbers := make([]int, len(jobs))
	known := map[int64]int{}
	for i := range jobs {
		n, ok := known[jobs[i].User]
		if !ok {
			n = len(known)
			known[jobs[i].User] = n
		}
		numbers[i] = n
	}
	return numbers
}

// measure computes the interarrival time of every group.
func (s *Shaker) measure() {
	if s.group == nil {
		s.since = make([]float64, len(s.jobs))
		for i := 1; i < len(s.jobs); i++ {
			s.since[i] = s.jobs[i].Submit - s.jobs[i-1].Submit
		}
		return
	}
	last := map[int64]float64{} // by user
	for i := range s.jobs {
		j := &s.jobs[i]
		before, ok := last[j.User]
		if !ok {
			before = s.jobs[0].Submit
		}
		if s.group[i] == len(s.since) { // groups are numbered in the order of their first jobs
			s.since = append(s.since, j.Submit-before)
		}
		last[j.User] = j.Submit
	}
	s.groups = len(s.since)
}

// Shake appends a shaken copy of the jobs to dst[:0], in order of submission. Jobs with the same submit time keep their
// order. Changed times are rounded to whole seconds, as in logs.
func (s *Shaker) Shake(dst []users.Job, rng *rand.Rand) []users.Job {
	dst = append(dst[:0], s.jobs...)
	var shared []float64 // draw of each group; 0 if the group is not shaken
	if s.group != nil {
		shared = make([]float64, s.groups)
		for i := range shared {
			shared[i] = s.draw(rng)
		}
	}
	for i := range dst {
		group, x := i, 0.
		if s.group == nil {
			x = s.draw(rng)
		} else {
			group = s.group[i]
			x = shared[group]
		}
		if x != 0 {
			s.change(&dst[i], s.since[group], x)
		}
	}
	if s.cfg.Attribute == Interarrival {
		slices.SortStableFunc(dst, func(a, b users.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	}
	return dst
}

// draw returns a uniform number from -1 to 1, or 0 for a job or group that is not selected.
func (s *Shaker) draw(rng *rand.Rand) float64 {
	if s.cfg.Fraction < 1 && rng.Float64() >= s.cfg.Fraction {
		return 0
	}
	return 2*rng.Float64() - 1 // random sign times a number from 0 to 1
}

// change shakes one job. since is its interarrival time in seconds (see Config.Relative), and x is the result of draw.
func (s *Shaker) change(j *users.Job, since, x float64) {
	switch s.cfg.Attribute {
	case Interarrival:
		j.Submit = max(0, math.Round(j.Submit+s.pert(since)*x))
	case Runtime:
		if j.Runtime > 0 {
			j.Runtime = max(1, math.Round(j.Runtime+s.pert(j.Runtime)*x))
		}
	case Estimate:
		if j.Estimate > 0 {
			j.Estimate = max(1, math.Round(j.Estimate+s.pert(j.Estimate)*x))
		}
	case Size:
		if j.Procs <= 0 {
			return
		}
		procs := float64(j.Procs)
		// The largest change is a whole number of processors (section 4.2.3).
		procs = max(1, math.Round(procs+math.Round(s.pert(procs))*x))
		if s.cfg.MaxProcs > 0 {
			procs = min(procs, float64(max(s.cfg.MaxProcs, j.Procs)))
		}
		j.Procs = int(procs)
	}
}

// pert returns the largest change of a value (equation 4.2 of the thesis).
func (s *Shaker) pert(original float64) float64 {
	if s.cfg.Relative == 0 {
		return s.cfg.Degree
	}
	return min(s.cfg.Degree, s.cfg.Relative*original)
}
