package users

import (
	"fmt"
	"math"
	"slices"
)

// Class is a pool that a user belongs to.
type Class uint8

// These are the classes of users.
const (
	LongTerm  Class = iota + 1 // comes during the whole log or a long part of it
	Temporary                  // comes for a while, for example for a project
	// temporary, but the beginning or end of the log may have cut off a part of the activity; such users are in no
	// resampled workload
	Dropped
	Rare // a part of some user's activity that was named as a rare behavior
)

// String returns the class as words.
func (c Class) String() string {
	switch c {
	case LongTerm:
		return "long-term"
	case Temporary:
		return "temporary"
	case Dropped:
		return "dropped"
	case Rare:
		return "rare"
	}
	return "unknown"
}

// These are defaults of Options, in weeks. The text of the paper (section 4) drops temporary users within 4 weeks of
// an end of the log, but its Table V agrees with 8.
const (
	DefaultLongTerm = 12
	DefaultEdge     = 8
)

// Options define how a log is split.
type Options struct {
	// if there are more weeks from the first job to the end of the last, a user is long-term; 0 means DefaultLongTerm
	LongTerm float64

	// Edge is a number of weeks. Temporary users whose whole activity is within Edge weeks of the log's beginning or
	// end are dropped. 0 means DefaultEdge, but at most a fifth of the log. A negative Edge drops no user.
	Edge float64

	Rare []RareBehavior
}

// RareBehavior names a part of a user's activity, such as a flurry, that becomes a pseudo-user of its own (the
// paper's section 6.4).
type RareBehavior struct {
	User        int64
	From, Until float64 // limits of submit times: From <= submit < Until
}

// User is one member of a pool.
type User struct {
	ID          int64
	Class       Class
	Jobs        []Job   // in order of submission; never empty
	First, Last float64 // first and last submission
	End         float64 // end of the job that ended last
}

// Work returns the processor seconds of the user's jobs.
func (u *User) Work() float64 {
	var sum float64
	for i := range u.Jobs {
		sum += float64(u.Jobs[i].Procs) * u.Jobs[i].Runtime
	}
	return sum
}

// Pools has the users of a log, divided by class.
type Pools struct {
	Name       string
	LongTerm   []*User // in order of ID; the same is true for Temporary and Dropped
	Temporary  []*User
	Dropped    []*User
	Rare       []*User // in the order of Options.Rare, without those that have no jobs
	Start, End float64 // beginning and end of the log
	Monday     float64 // see Trace
	Edge       float64 // Options.Edge as it was applied, in weeks; 0 if no user is dropped

	// Present is the mean number of temporary users in a week. Arrivals is the mean number of temporary users who
	// come in a week. Both are estimated so that dropping users does not lower them. Present uses the weeks that are
	// further than Edge from both ends. For Arrivals, each user counts as 1 divided by the number of weeks in which
	// the user could have come without being dropped.
	Present, Arrivals float64

	NeverRan int // number of jobs that were left out because their runtime is unknown
	NoProcs  int // number of jobs that were left out because they have no processors
}

// Weeks returns the length of the log in weeks.
func (p *Pools) Weeks() float64 { return (p.End - p.Start) / week }

// Split divides a log into its users. It leaves out and counts jobs that never ran or have no processors. Jobs whose
// user is unknown (negative) count as jobs of one more user. The error wraps ErrNoJobs or ErrNoUsers, or names the
// invalid option.
func Split(t Trace, o Options) (*Pools, error) {
	p := &Pools{Name: t.Name, Start: t.Start, End: t.End, Monday: t.Monday}
	jobs, err := p.usable(t)
	if err != nil {
		return nil, fmt.Errorf("split %q into users: %w", t.Name, err)
	}
	if err := p.defaults(&o); err != nil {
		return nil, fmt.Errorf("split %q into users: %w", t.Name, err)
	}
	jobs = p.takeRare(jobs, o.Rare)
	slices.SortStableFunc(jobs, func(a, b Job) int {
		switch {
		case a.User < b.User:
			return -1
		case a.User > b.User:
			return 1
		}
		return 0
	})
	for len(jobs) > 0 {
		n := 1
		for n < len(jobs) && jobs[n].User == jobs[0].User {
			n++
		}
		p.classify(newUser(jobs[:n:n]), o)
		jobs = jobs[n:]
	}
	p.rates()
	return p, nil
}

// usable returns the valid jobs in order of submission, and determines the beginning and the end of the log.
func (p *Pools) usable(t Trace) ([]Job, error) {
	jobs := make([]Job, 0, len(t.Jobs))
	known := false
	for i := range t.Jobs {
		j := &t.Jobs[i]
		switch {
		case !(j.Runtime >= 0) || math.IsInf(j.Runtime, 1): // also true for NaN
			p.NeverRan++
			continue
		case j.Procs <= 0:
			p.NoProcs++
			continue
		case math.IsNaN(j.Submit) || math.IsInf(j.Submit, 0):
			return nil, fmt.Errorf("job %d: submit time %v", j.Index, j.Submit)
		}
		known = known || j.User >= 0
		if t.End == 0 {
			p.End = max(p.End, j.End())
		}
		p.Start = min(p.Start, j.Submit)
		jobs = append(jobs, *j)
	}
	if len(jobs) == 0 {
		return nil,
			fmt.Errorf("%w (%d jobs without a runtime, %d without processors)", ErrNoJobs, p.NeverRan, p.NoProcs)
	}
	if !known {
		return nil, ErrNoUsers
	}
	bySubmit(jobs)
	p.End = max(p.End, jobs[len(jobs)-1].Submit)
	return jobs, nil
}

func (p *Pools) defaults(o *Options) error {
	if o.LongTerm == 0 {
		o.LongTerm = DefaultLongTerm
	}
	if !(o.LongTerm > 0) {
		return fmt.Errorf("Options.LongTerm is %v weeks; want more than 0", o.LongTerm)
	}
	switch {
	case o.Edge == 0:
		p.Edge = min(DefaultEdge, p.Weeks()/5)
	case o.Edge > 0 && 2*o.Edge < p.Weeks():
		p.Edge = o.Edge
	case !(o.Edge < 0):
		return fmt.Errorf("Options.Edge is %v weeks; a log of %.1f weeks needs less than half of that",
			o.Edge, p.Weeks())
	}
	return nil
}

// takeRare moves the jobs of rare behaviors to the rare pool and returns the other jobs.
func (p *Pools) takeRare(jobs []Job, rare []RareBehavior) []Job {
	if len(rare) == 0 {
		return jobs
	}
	taken := make([][]Job, len(rare))
	rest := jobs[:0]
	for _, j := range jobs {
		at := slices.IndexFunc(rare, func(r RareBehavior) bool {
			return r.User == j.User && r.From <= j.Submit && j.Submit < r.Until
		})
		if at < 0 {
			rest = append(rest, j)
			continue
		}
		taken[at] = append(taken[at], j)
	}
	for _, jobs := range taken {
		if len(jobs) == 0 {
			continue
		}
		u := newUser(jobs)
		u.Class = Rare
		p.Rare = append(p.Rare, u)
	}
	return rest
}

func newUser(jobs []Job) *User {
	u := &User{ID: jobs[0].User, Jobs: jobs, First: jobs[0].Submit, Last: jobs[len(jobs)-1].Submit}
	for i := range jobs {
		u.End = max(u.End, jobs[i].End())
	}
	return u
}

func (p *Pools) classify(u *User, o Options) {
	switch edge := p.Edge * week; {
	case u.End-u.First > o.LongTerm*week:
		u.Class = LongTerm
		p.LongTerm = append(p.LongTerm, u)
	case p.Edge > 0 && (u.End <= p.Start+edge || u.First >= p.End-edge):
		u.Class = Dropped
		p.Dropped = append(p.Dropped, u)
	default:
		u.Class = Temporary
		p.Temporary = append(p.Temporary, u)
	}
}

// rates estimates Present and Arrivals.
func (p *Pools) rates() {
	from, until := math.Ceil(p.Edge), math.Floor(p.Weeks()-p.Edge)
	if until <= from {
		from, until = 0, math.Ceil(p.Weeks())
	}
	for _, u := range p.Temporary {
		first, last := math.Floor((u.First-p.Start)/week), math.Floor((u.Last-p.Start)/week)
		p.Present += max(0, min(last+1, until)-max(first, from)) / max(1, until-from)
		exposure := p.Weeks() - 2*p.Edge + min((u.End-u.First)/week, p.Edge)
		p.Arrivals += 1 / max(1, exposure)
	}
}
