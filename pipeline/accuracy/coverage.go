package accuracy

import (
	"math"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// Waiting is a waiting job, with the forecast that was made at its submission.
type Waiting struct {
	Queue     string
	Procs     int
	Submit    time.Time
	Quantiles []float64 // as in a ledger row: seconds, waittime.Never for infinite ones
	Peers     []modelstore.Peer
	Replayed  bool
}

// Same reports whether two values of one job are equal. Slices count as equal only if they share their memory, because
// quantiles and peers are not modified once they are made.
func (w *Waiting) Same(as *Waiting) bool {
	return w.Queue == as.Queue && w.Procs == as.Procs && w.Submit.Equal(as.Submit) && w.Replayed == as.Replayed &&
		sameMemory(w.Quantiles, as.Quantiles) && sameMemory(w.Peers, as.Peers)
}

// sameMemory reports whether two slices have the same length and the same elements in memory.
func sameMemory[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// LevelCoverage counts the outcomes of the quantiles of one level, as of an instant. The histogram has only the
// submissions whose quantile has passed by then.
type LevelCoverage struct {
	coverage.OutcomeHistogram
	// Waiting and Left are parts of the missed submissions: Waiting counts the jobs that still wait, Left the jobs that
	// were cancelled after their quantile had passed.
	Waiting, Left int64
	// Undecided counts waiting jobs whose quantile has not passed yet. Early counts jobs that started or were cancelled
	// before their quantile passed. The quantiles of both kinds of jobs are decided when they pass.
	Undecided, Early int64
}

// Coverage counts the outcomes of the forecasts of some submissions, as of an instant, by level.
type Coverage []LevelCoverage

func newCoverage() Coverage { return make(Coverage, len(waittime.Levels())) }

// add counts a submission with its quantiles, one for each level.
func (c Coverage) add(s coverage.Submission, quantiles []float64) {
	for i, q := range quantiles {
		c[i].add(s, finiteQuantile(q))
	}
}

func (l *LevelCoverage) add(s coverage.Submission, q float64) {
	if math.IsNaN(q) {
		return
	}
	o, age := s.Judge(q, resolution)
	l.Add(o, age)
	switch {
	case o == coverage.Undecided && s.Waits():
		l.Undecided++
	case o == coverage.Undecided:
		l.Early++
	case o == coverage.Missed && s.Waits():
		l.Waiting++
	case o == coverage.Missed && !s.Started:
		l.Left++
	}
}

func (c Coverage) merge(o Coverage) {
	for i := range c {
		c[i].Merge(&o[i].OutcomeHistogram)
		c[i].Waiting, c[i].Left = c[i].Waiting+o[i].Waiting, c[i].Left+o[i].Left
		c[i].Undecided, c[i].Early = c[i].Undecided+o[i].Undecided, c[i].Early+o[i].Early
	}
}

// finiteQuantile returns a quantile of the ledger in seconds. The value waittime.Never is replaced by
// waittime.ScoredNever, a year.
func finiteQuantile(q float64) float64 {
	if q == waittime.Never {
		return waittime.ScoredNever
	}
	return q
}

// submissionOf returns the submission of a row's job for judging its quantiles as of an instant.
func submissionOf(row *modelstore.Row, asOf time.Time) coverage.Submission {
	return coverage.Submission{
		Age: asOf.Sub(row.Submit).Seconds(), Waited: row.WaitSeconds, Started: row.Outcome == modelstore.Started,
	}
}

// MethodCoverage is the coverage of the forecasts of one method.
type MethodCoverage struct {
	Method string
	Coverage
}

// Submissions counts the outcomes of the forecasts of some submissions: of the served forecasts, and of the forecasts
// of other methods, where these had one.
type Submissions struct {
	Served Coverage
	Peers  []MethodCoverage
	// Waits is the number of waiting jobs with a forecast.
	Waits int64
}

func (b *Submissions) add(s coverage.Submission, quantiles []float64, peers []modelstore.Peer) {
	b.Served.add(s, quantiles)
	b.Waits += count(s.Waits())
	for _, p := range peers {
		b.peer(p.Method).add(s, p.Quantiles)
	}
}

func (b *Submissions) merge(o *Submissions) {
	b.Served.merge(o.Served)
	b.Waits += o.Waits
	for _, p := range o.Peers {
		b.peer(p.Method).merge(p.Coverage)
	}
}

func (b *Submissions) peer(method string) Coverage {
	i := slices.IndexFunc(b.Peers, func(p MethodCoverage) bool { return p.Method == method })
	if i < 0 {
		i = len(b.Peers)
		b.Peers = append(b.Peers, MethodCoverage{method, newCoverage()})
	}
	return b.Peers[i].Coverage
}

// WaitingPast counts waiting jobs: all of them, and by level those that have waited longer than their quantile.
type WaitingPast struct {
	Waiting int64
	Past    []int64
}

// NewWaitingPast returns a WaitingPast of no jobs.
func NewWaitingPast() WaitingPast { return WaitingPast{Past: make([]int64, len(waittime.Levels()))} }

// NewWaitingByMade returns counts of no jobs: index 0 is for forecasts that were made live, index 1 for those that were
// made after the fact (see MadeIndex).
func NewWaitingByMade() *[2]WaitingPast { return &[2]WaitingPast{NewWaitingPast(), NewWaitingPast()} }

// Add counts a waiting job as of an instant.
func (c *WaitingPast) Add(w *Waiting, asOf time.Time) {
	c.Waiting++
	s := coverage.StillWaiting(asOf.Sub(w.Submit).Seconds())
	for i, q := range w.Quantiles {
		o, _ := s.Judge(finiteQuantile(q), resolution)
		c.Past[i] += count(o == coverage.Missed)
	}
}
