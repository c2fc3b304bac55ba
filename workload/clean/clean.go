// Package clean finds the jobs of a workload that do not represent the behavior of its users. They are jobs that
// never ran, flurries (bursts of one user) and daily robots (jobs that a program submits at the same time of day on
// many days). The package marks such jobs with the reason and removes nothing. Each fit decides which jobs it leaves
// out.
//
// The archive's cleaned logs were cleaned by hand (D. Feitelson and D. Tsafrir, "Workload sanitation for performance
// evaluation", ISPASS 2006). A flurry is described by a user and a range of job numbers. The robot of 3:30 of the San
// Diego Paragon is described by "user=5 and hour=3". There are no published thresholds. The thresholds in Options are
// a free choice.
package clean

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/workload/users"
)

// Reason is a set of reasons to leave a job out.
type Reason uint8

// These are the reasons.
const (
	NeverRan Reason = 1 << iota // the job never ran: it has no runtime, and its wait is a lower bound
	Flurry
	Robot

	None Reason = 0
	Any         = NeverRan | Flurry | Robot
)

// String returns the reasons as words.
func (r Reason) String() string {
	var words []string
	for _, w := range []struct {
		reason Reason
		word   string
	}{{NeverRan, "never ran"}, {Flurry, "flurry"}, {Robot, "daily robot"}} {
		if r&w.reason != 0 {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// Options are the thresholds. A zero field means its default.
type Options struct {
	// Start is the instant of time 0 in the machine's time zone, whose clock robots follow. The zero value means that
	// time 0 is a midnight in a zone without daylight saving.
	Start time.Time

	Window float64 // length of the window for flurries of one user, in seconds; 0 means a day
	// a flurry has more jobs in a window than Factor times the median number of jobs of all users together in a window;
	// 0 means 3
	Factor     float64
	FlurryJobs int // a flurry also has at least this number of jobs; 0 means 200

	RobotWidth float64 // maximum length in seconds of the interval of the day in which a robot submits; 0 means 600
	RobotDays  int     // minimum number of days on which a robot submits; 0 means 20
	RobotShare float64 // minimum share of the days from the first to the last on which it submits; 0 means 0.4
	// minimum ratio of the number of days on which the robot submits to the mean number of days with submissions in
	// other intervals of the same length, in the hour before and the hour after; 0 means 3
	RobotPeak float64
}

func (o *Options) defaults() error {
	for _, x := range []struct {
		name      string
		value     *float64
		otherwise float64
	}{
		{"Window", &o.Window, FlurryWindow.Seconds()}, {"Factor", &o.Factor, 3}, {"RobotWidth", &o.RobotWidth, 600},
		{"RobotShare", &o.RobotShare, .4}, {"RobotPeak", &o.RobotPeak, 3},
	} {
		if *x.value == 0 {
			*x.value = x.otherwise
		}
		if !(*x.value > 0) {
			return fmt.Errorf("clean: %s is %v; want more than 0", x.name, *x.value)
		}
	}
	if o.FlurryJobs == 0 {
		o.FlurryJobs = 200
	}
	if o.RobotDays == 0 {
		o.RobotDays = 20
	}
	switch {
	case o.FlurryJobs < 2 || o.RobotDays < 2:
		return fmt.Errorf("clean: FlurryJobs is %d and RobotDays is %d; want 2 or more", o.FlurryJobs, o.RobotDays)
	case o.RobotWidth > hour:
		return fmt.Errorf("clean: RobotWidth is %v s; want an hour at most", o.RobotWidth)
	}
	if o.Start.IsZero() {
		o.Start = time.Unix(0, 0).UTC()
	}
	return nil
}

// Finding is one flurry, or one robot.
type Finding struct {
	Reason  Reason  `json:"-"`
	Kind    string  `json:"kind"`
	User    int64   `json:"user"`
	From    float64 `json:"from_seconds"`  // first submission
	Until   float64 `json:"until_seconds"` // last submission
	Jobs    int     `json:"jobs"`
	Typical float64 `json:"typical,omitempty"` // flurry: median number of jobs of all users in a window
	Most    int     `json:"most,omitempty"`    // flurry: number of the user's jobs in its busiest window
	// robot: beginning of its interval of the day, in seconds after midnight
	Clock float64 `json:"clock_seconds,omitempty"`
	Width float64 `json:"clock_width_seconds,omitempty"` // robot: length of that interval
	Days  int     `json:"days,omitempty"`                // robot: number of days on which it submitted
	// Robot: number of days from the first to the last of these days.
	Span int `json:"span_days,omitempty"`
}

// String describes the finding in one line.
func (f Finding) String() string {
	if f.Reason == Robot {
		c := int(f.Clock)
		return fmt.Sprintf("user %d: %d jobs around %d:%02d on %d of %d days (daily robot)", f.User, f.Jobs, c/3600,
			c%3600/60, f.Days, f.Span)
	}
	return fmt.Sprintf("user %d: %d jobs in %.1f days, up to %d in a window in which all users have %.0f (flurry)",
		f.User, f.Jobs, (f.Until-f.From)/86400, f.Most, f.Typical)
}

// Report reports which jobs were marked, and why.
type Report struct {
	Marks    []Reason // reasons of each job, in the given order
	Findings []Finding
	NeverRan int // jobs that never ran
}

// ErrNoJobs means that no jobs were given.
var ErrNoJobs = errors.New("clean: no jobs")

// Find examines jobs, which may be in any order, and does not change them. Jobs of unknown users (negative numbers)
// belong to no flurry and no robot.
func Find(jobs []users.Job, o Options) (*Report, error) {
	if len(jobs) == 0 {
		return nil, ErrNoJobs
	}
	if err := o.defaults(); err != nil {
		return nil, err
	}
	r := &Report{Marks: make([]Reason, len(jobs))}
	by := map[int64][]int{}
	for i := range jobs {
		j := &jobs[i]
		if math.IsNaN(j.Submit) || math.Abs(j.Submit) > 1e11 {
			return nil, fmt.Errorf("clean: job %d (record %d) is submitted at %v", i, j.Index, j.Submit)
		}
		if !(j.Runtime >= 0) {
			r.Marks[i] |= NeverRan
			r.NeverRan++
		}
		if j.User >= 0 {
			by[j.User] = append(by[j.User], i)
		}
	}
	typical := median(jobs, o.Window)
	names := make([]int64, 0, len(by))
	for user := range by {
		names = append(names, user)
	}
	slices.Sort(names)
	for _, user := range names {
		own := by[user]
		slices.SortStableFunc(own, func(a, b int) int {
			switch {
			case jobs[a].Submit < jobs[b].Submit:
				return -1
			case jobs[a].Submit > jobs[b].Submit:
				return 1
			}
			return 0
		})
		r.flurries(jobs, own, typical, o)
		r.robots(jobs, own, o)
	}
	return r, nil
}

// RareBehaviors returns the flurries in the form that users.Split needs, for workloads with more or fewer of them.
func (r *Report) RareBehaviors() []users.RareBehavior {
	var rare []users.RareBehavior
	for _, f := range r.Findings {
		if f.Reason == Flurry {
			rare = append(rare,
				users.RareBehavior{User: f.User, From: f.From, Until: math.Nextafter(f.Until, math.Inf(1))})
		}
	}
	return rare
}
