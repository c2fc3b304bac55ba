package forward

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// Policy is a scheduling policy. State.Waiting is always in the order of the policy.
type Policy uint8

// The policies.
const (
	// FCFS starts jobs strictly in order.
	FCFS Policy = iota
	// EASY lets a job overtake if, by the time limits, it does not delay the first waiting job.
	EASY
	// Conservative gives every job a reservation. It is simulated as EASY, under which jobs start a little sooner.
	Conservative
	// PriorityFCFS orders by rank, and starts jobs strictly in that order.
	PriorityFCFS
	// PriorityEASY orders by rank and backfills as EASY does.
	PriorityEASY
	policies
)

// String returns the policy as configuration and answers write it.
func (p Policy) String() string {
	names := [...]string{"fcfs", "easy", "conservative", "priority_fcfs", "priority_easy"}
	if int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

func (p Policy) backfills() bool { return p == EASY || p == Conservative || p == PriorityEASY }

// ByRank reports whether the policy orders jobs by rank.
func (p Policy) ByRank() bool { return p == PriorityFCFS || p == PriorityEASY }

// Law is the law of the lifetime of one job. Residual returns a quantile, at the level u in (0, 1), of the seconds
// that the job still runs at an age in seconds. The age is 0 for a job that starts. The result must be at least 0,
// and is truncated at 100 years. Laws must be safe for concurrent use.
type Law interface {
	Residual(age, u float64) float64
}

// AgingLaw is a Law with a part that depends only on the age. That part is computed once for all replicas. Aged
// returns it. ResidualOfAged receives it, and must return the same number as Residual.
type AgingLaw interface {
	Law
	Aged(age float64) float64
	ResidualOfAged(age, aged, u float64) float64
}

// Running is a job that holds processors.
type Running struct {
	// Key identifies the job, so that it has the same random numbers in every forecast. 0 means that the job is
	// identified by its index.
	Key   uint64
	Group uint64 // jobs of one group (a user's campaign) have correlated lifetimes, see State.Rho; 0 for none
	Procs int
	Age   float64 // seconds, 0 or more
	Limit float64 // seconds, 0 for unknown
	Law   Law     // nil for a job that runs to its limit
	Owner int32   // see Ranked
	// Holds are the job's amounts in State.Limits. A job that runs elsewhere and only counts in limits has 0
	// processors.
	Holds []Holding
	// Needs are what the job needs of State.Nodes in addition to processors. On has the numbers of the nodes on which
	// the job runs, counted from the first class. -1 stands for a node that is not in State.Nodes. On is empty if the
	// nodes are unknown.
	Needs *Needs
	On    []int32
}

// Waiting is a job that waits.
type Waiting struct {
	Key      uint64
	Group    uint64
	Procs    int
	Limit    float64 // seconds, 0 for unknown
	Eligible float64 // seconds from now until it may compete; 0 or less for now, +Inf for never
	Rank     int     // lower ranks start sooner; used by policies by priority
	Law      Law     // nil for a job that runs to its limit
	// Owner and Since are as in Ranked, for State.Ranker.
	Owner int32
	Since float64
	// Holds are the amounts that the job would have in State.Limits.
	Holds []Holding
	// After are the keys of the jobs of the state that must have ended before the job may compete. A key that no job
	// has is ignored.
	After []uint64
	// Needs are what the job needs of State.Nodes in addition to processors. nil means that it needs nothing else, and
	// may use any nodes.
	Needs *Needs
}

// Outage is a number of processors that are unavailable for a time. A job that by its limit would need them in that
// time does not start. A job that holds them already keeps them to its end.
type Outage struct {
	From, Until float64 // seconds from now; From may be past, Until may be +Inf
	Procs       int
	On          []int32 // numbers of the nodes of State.Nodes that it takes, as in Running.On; empty if unknown
}

// Arrival is a job that is submitted later.
type Arrival struct {
	After   float64 // seconds since the previous arrival, or since now
	Procs   int
	Limit   float64 // seconds, 0 for unknown
	Runtime float64 // seconds
	Rank    int
	Needs   *Needs // needs of State.Nodes other than processors; nil for none
	Owner   int32  // see Ranked
}

// Arrivals returns the stream of arrivals of one replica. The stream returns false at its end. Equal replicas and
// seeds must give equal streams.
type Arrivals func(replica int, seed uint64) func() (Arrival, bool)

// State is a pool at an instant.
type State struct {
	// Capacity is the number of the pool's processors, including those in Outages.
	Capacity int
	Running  []Running
	// Waiting is in the order in which the policy takes the jobs. For policies by priority that is the order of Rank.
	// A job that needs more processors than the pool ever has does not compete.
	Waiting []Waiting
	Outages []Outage
	Policy  Policy
	// DefaultLimit is the runtime that the scheduler plans for a job without a known limit, in seconds; 0 means
	// infinite.
	DefaultLimit float64
	// Rho is the correlation of the lifetimes of jobs of one group, in [0, 1). It is the correlation of the normal
	// scores of their quantiles (a Gaussian copula of one factor).
	Rho float64
	// Arrivals may be nil.
	Arrivals Arrivals
	// Gates close the pool to jobs of long limits at times of the week. They are sorted by rising Over.
	Gates []Gate
	// Limits bound the amounts that groups of running jobs have.
	Limits []Limit
	// Nodes are the nodes of the pool, if jobs need more than processors; otherwise it is empty. [Sim] uses them.
	// Surfaces and Openings do not.
	Nodes []NodeClass
	// Ranker changes the ranks of waiting jobs under a priority policy; nil if ranks are constant. Plans do not use it.
	Ranker Ranker
	// Horizon, in seconds, ends a replica in which arrivals never let the request start. The wait is the horizon
	// then. 0 means 30 days. Without arrivals there is no horizon.
	Horizon float64
	// Lifetimes is a cache that simulations from this instant share; nil for none. It changes no result.
	Lifetimes *Lifetimes
}

const (
	longest        = 100 * 365 * 86400. // seconds: 100 years
	defaultHorizon = 30 * 86400.
)

// Request is a job that would be submitted now.
type Request struct {
	Procs    int
	Limit    float64 // seconds, 0 for unknown
	Eligible float64 // seconds from now until it may compete, 0 or less for now
	Rank     int     // rank relative to later arrivals; for the waiting jobs Behind counts
	// Owner and Since are as in Ranked, for State.Ranker.
	Owner int32
	Since float64
	// Behind is the number of jobs at the end of State.Waiting that come after the request. It is 0 if the request
	// joins last; see State.Behind.
	Behind int
	// Holds are the amounts that the request would have in State.Limits. After has the keys of the jobs that must end
	// before it may compete. Needs are what it needs of State.Nodes in addition to processors. Only [Sim] uses these.
	Holds []Holding
	After []uint64
	Needs *Needs
}

// Behind returns the number of jobs in State.Waiting that come after a request of the given rank in the policy's order.
func (s *State) Behind(rank int) int {
	if !s.Policy.ByRank() {
		return 0
	}
	return len(s.Waiting) - sort.Search(len(s.Waiting), func(i int) bool { return s.Waiting[i].Rank > rank })
}

// ErrBadInput is wrapped by the errors for invalid numbers.
var ErrBadInput = errors.New("bad input")

// FieldError reports an invalid number in a State or a Request; it wraps ErrBadInput.
type FieldError struct {
	Field string // running[3].procs
	Value float64
	Need  string
}

// Error names the field, its value, and what it needs.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %v, need %s", e.Field, e.Value, e.Need)
}

// Unwrap returns ErrBadInput.
func (e *FieldError) Unwrap() error { return ErrBadInput }

// TooLargeError is the error for a request that can never start, because it is larger than the pool will ever be.
type TooLargeError struct{ Procs, Most int }

// Error names both sizes.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a request for %d processors can never start: the pool has at most %d", e.Procs, e.Most)
}

// NeverError reports a request that can never start although it is small enough. An endless outage begins before it
// could end by its limit, a limit on running jobs is below its request, or the nodes cannot hold it even if they are
// empty. Or it waits for a job that never starts: one on whose end it depends, or one ahead of it under a policy
// without backfilling.
type NeverError struct {
	Procs int
	Limit float64
}

// Error names the request.
func (e *NeverError) Error() string {
	return fmt.Sprintf("a request for %d processors and %v s never starts: an outage without an end leaves it no "+
		"time, or it is over a limit", e.Procs, e.Limit)
}

// LawError is the error for a law that returned an invalid number of seconds. It wraps ErrBadInput.
type LawError struct{ Age, U, Value float64 }

// Error names the arguments of the law and its result.
func (e *LawError) Error() string {
	return fmt.Sprintf("a job's residual lifetime at age %v s, quantile %v, is %v, need a number from 0", e.Age,
		e.U, e.Value)
}

// Unwrap returns ErrBadInput.
func (e *LawError) Unwrap() error { return ErrBadInput }

// field returns nil if ok is true, otherwise a *FieldError that names the field.
func field(ok bool, name string, i int, part string, value float64, need string) error {
	if ok {
		return nil
	}
	if i >= 0 {
		name = fmt.Sprintf("%s[%d].%s", name, i, part)
	}
	return &FieldError{Field: name, Value: value, Need: need}
}

const needProcs, needSeconds = "1 up to 2147483647", "a finite number from 0"

func isProcs(n int) bool       { return n >= 1 && n <= math.MaxInt32 }
func isSeconds(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// check returns an error if a number of a state is invalid.
func (s *State) check() error {
	err := errors.Join(
		field(isProcs(s.Capacity), "capacity", -1, "", float64(s.Capacity), needProcs),
		field(s.Policy < policies, "policy", -1, "", float64(s.Policy), "one of the policies"),
		field(isSeconds(s.DefaultLimit), "default limit", -1, "", s.DefaultLimit, needSeconds),
		field(isSeconds(s.Horizon), "horizon", -1, "", s.Horizon, needSeconds),
		field(s.Rho >= 0 && s.Rho < 1, "rho", -1, "", s.Rho, "0 up to but not 1"),
	)
	for i := range s.Running {
		r := &s.Running[i]
		elsewhere := r.Procs == 0 && (len(s.Limits) > 0 || r.Key != 0)
		if !isProcs(r.Procs) && !elsewhere || !isSeconds(r.Age) || !isSeconds(r.Limit) {
			err = errors.Join(err,
				field(isProcs(r.Procs) || elsewhere, "running", i, "procs", float64(r.Procs), needProcs),
				field(isSeconds(r.Age), "running", i, "age", r.Age, needSeconds),
				field(isSeconds(r.Limit), "running", i, "limit", r.Limit, needSeconds))
		}
	}
	for i := range s.Waiting {
		w := &s.Waiting[i]
		if !isProcs(w.Procs) || !isSeconds(w.Limit) || math.IsNaN(w.Eligible) {
			err = errors.Join(err, field(isProcs(w.Procs), "waiting", i, "procs", float64(w.Procs), needProcs),
				field(isSeconds(w.Limit), "waiting", i, "limit", w.Limit, needSeconds),
				field(!math.IsNaN(w.Eligible), "waiting", i, "eligible", w.Eligible, "a number"))
		}
		if s.Policy.ByRank() && i > 0 && w.Rank < s.Waiting[i-1].Rank {
			err = errors.Join(err, field(false, "waiting", i, "rank", float64(w.Rank), "the order of the ranks"))
		}
	}
	err = errors.Join(err, s.checkLimits(), s.checkNodes())
	if len(s.Gates) > mostGates {
		err = errors.Join(err, field(false, "gates", -1, "", float64(len(s.Gates)), "at most 64"))
	}
	for i := range s.Gates {
		err = errors.Join(err, s.Gates[i].check(i))
		if i > 0 && s.Gates[i].Over <= s.Gates[i-1].Over {
			err = errors.Join(err, field(false, "gates", i, "over", s.Gates[i].Over,
				"more than that of the gate before"))
		}
	}
	for i, o := range s.Outages {
		if !(o.From < o.Until) || math.IsInf(o.From, 0) || o.Procs < 0 || o.Procs > math.MaxInt32 {
			err = errors.Join(err, field(o.From < o.Until && !math.IsInf(o.From, 0), "outages", i, "from", o.From,
				"a finite number below until"),
				field(o.Procs >= 0 && o.Procs <= math.MaxInt32, "outages", i, "procs", float64(o.Procs), "0 or more"))
		}
	}
	return err
}

// check returns an error if a request is invalid. most is the largest number of processors that the pool ever has,
// waiting the number of waiting jobs.
func (r *Request) check(most, waiting int) error {
	switch {
	case !isProcs(r.Procs):
		return field(false, "request procs", -1, "", float64(r.Procs), needProcs)
	case !isSeconds(r.Limit):
		return field(false, "request limit", -1, "", r.Limit, needSeconds)
	case math.IsNaN(r.Eligible) || math.IsInf(r.Eligible, 1):
		return field(false, "request eligible", -1, "", r.Eligible, "a finite number")
	case r.Behind < 0 || r.Behind > waiting:
		return field(false, "request behind", -1, "", float64(r.Behind),
			fmt.Sprintf("0 up to the %d that wait", waiting))
	case r.Procs > most:
		return &TooLargeError{Procs: r.Procs, Most: most}
	}
	return nil
}
