// Package clean finds the jobs of a workload that do not represent its users' behaviour: jobs that never ran, flurries
// (bursts of one user) and daily robots (jobs submitted at the same time of day, day after day, by no human hand). It
// marks them with the reason and removes nothing; each fit decides which to leave out.
//
// The archive's cleaned logs were cleaned by hand (D. Feitelson and D. Tsafrir, "Workload sanitation for performance
// evaluation", ISPASS 2006): a job number range of a user for a flurry, "user=5 and hour=3" for the robot of 3:30 of
// the San Diego Paragon. There are no published thresholds; those of Options are ours, and say what they compare.
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

// The reasons.
const (
	NeverRan Reason = 1 << iota // its runtime is no runtime, its wait a lower bound
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

// Options are the thresholds. The zero value takes the defaults.
type Options struct {
	// Start is the instant of time 0 in the machine's time zone, by whose clock robots keep their hour; the zero value
	// takes time 0 for a midnight in a place without daylight saving.
	Start time.Time

	Window float64 // seconds in which jobs of one user make a flurry; 0 for a day
	// a flurry has more jobs in a window than this many times the median of all users' jobs in one; 0 for 3
	Factor     float64
	FlurryJobs int // ... and at least so many; 0 for 200

	RobotWidth float64 // seconds of the day within which a robot submits; 0 for 600
	RobotDays  int     // on how many days at least; 0 for 20
	RobotShare float64 // on which share of the days from the first to the last of them; 0 for .4
	// on how many times as many days as in an equal stretch of the two hours around, on average; 0 for 3
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
	From    float64 `json:"from_seconds"`  // first submit
	Until   float64 `json:"until_seconds"` // last submit
	Jobs    int     `json:"jobs"`
	Typical float64 `json:"typical,omitempty"` // flurry: median of all users' jobs in a window
	Most    int     `json:"most,omitempty"`    // flurry: the user's jobs in his busiest window
	// robot: begin of its stretch of the day, seconds after midnight
	Clock float64 `json:"clock_seconds,omitempty"`
	Width float64 `json:"clock_width_seconds,omitempty"` // robot: length of that stretch
	Days  int     `json:"days,omitempty"`                // robot: on which it submitted
	Span  int     `json:"span_days,omitempty"`           // robot: from the first to the last of them
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
	Marks    []Reason // of each job, in the order given
	Findings []Finding
	NeverRan int // jobs that never ran
}

// ErrNoJobs is returned where there is nothing to look at.
var ErrNoJobs = errors.New("clean: no jobs")

// Find examines jobs, in any order, and does not change them. Jobs of unknown users (negative) are in no flurry and no
// robot.
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

// RareBehaviors returns the flurries as users.Split takes them, for workloads that have more or fewer of them.
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
