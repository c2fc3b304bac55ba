package track

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

// PastJob is a submission from which simulations draw later arrivals. It is immutable: a view that is restored after
// a crash must draw the same jobs as before. So Runtime is drawn from the law of the job's lifetime at its
// submission, and the true runtime does not replace it.
type PastJob struct {
	At      float64 // instant; not before that of the previous job
	Limit   float64 // seconds, 0 for none
	Runtime float64 // seconds
	Procs   int
	Queue   int    // the queue's code
	User    uint64 // the user's number
	// Expected is the expected runtime. Use is the user's recent usage. Own is the number of other waiting jobs of the
	// user.
	Expected, Use float64
	Own           int
	// Asks are the requested resources of nodes other than processors; nil for none.
	Asks *NodeAsks
}

// MostPast is the number of newest submissions from which arrivals are drawn. They cover eight weeks on machines like
// KTH-SP2 and SDSC-SP2, and days on busier ones.
const MostPast = 8192

// PastJobs are the newest submissions. Entries are only appended, so the result of Window does not change.
type PastJobs struct {
	Seen uint64 // number of all submissions so far
	all  []PastJob
}

// Record appends a submission.
func (p *PastJobs) Record(j *Job) {
	past := PastJob{At: j.Submit, Limit: j.Limit, Procs: j.Procs, Queue: j.QueueState.Code, User: j.UserState.Number,
		Runtime: j.Law.Residual(0, evenly(j.Number)), Expected: j.ExpectedRuntime, Use: j.UserState.Use.At(j.Submit),
		Own: max(0, int(j.UserState.Waiting.Jobs)-1)}
	if asks := j.NodeAsks(); asks != (NodeAsks{}) {
		past.Asks = &asks
	}
	if n := len(p.all); n > 0 {
		past.At = math.Max(past.At, p.all[n-1].At)
	}
	if len(p.all) >= 2*MostPast {
		p.all = append(make([]PastJob, 0, 2*MostPast), p.all[len(p.all)-MostPast+1:]...)
	}
	p.all = append(p.all, past)
	p.Seen++
}

// evenly returns a number in (0, 1) for n: the fractional part of n times the golden ratio. Results for successive n
// are nearly uniform (H. Weyl's theorem; D. Knuth, The Art of Computer Programming 3, section 6.4).
func evenly(n uint64) float64 {
	_, part := math.Modf(float64(n%(1<<40)) * (math.Phi - 1))
	return math.Min(math.Max(part, 1e-9), 1-1e-9)
}

// Window returns the newest MostPast of the submissions up to number seen. A view that was made at that number draws
// from these. The result is nil if submission number seen does not exist or is no longer kept.
func (p *PastJobs) Window(seen uint64) []PastJob {
	gone := p.Seen - uint64(len(p.all)) // the number of submissions that are no longer kept
	if seen > p.Seen || seen <= gone {
		return nil
	}
	to := int(seen - gone)
	return p.all[max(0, to-MostPast):to:to]
}

// Share copies the entries of another list. Both lists may continue.
func (p *PastJobs) Share(from *PastJobs) {
	*p = PastJobs{Seen: from.Seen, all: from.all[:len(from.all):len(from.all)]}
}

// position returns the place of a number in the order of all floating-point numbers (IEEE 754). So the difference of
// the positions of two numbers is exact, unlike that of the numbers.
func position(v float64) uint64 {
	bits := math.Float64bits(v)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// atPosition is the inverse of position.
func atPosition(at uint64) float64 {
	if at>>63 == 1 {
		return math.Float64frombits(at &^ (1 << 63))
	}
	return math.Float64frombits(^at)
}

// Code reads or writes the entries.
func (p *PastJobs) Code(s *codec.Codec) {
	s.Uint(&p.Seen)
	last := -Farthest
	codec.List(s, &p.all, func(j *PastJob) {
		steps := position(j.At) - position(last) // takes fewer bytes than the instant, and is exact
		s.Uint(&steps)
		s.Finite(&j.Limit, &j.Runtime, &j.Expected, &j.Use)
		s.Int(&j.Procs, &j.Queue, &j.Own)
		s.Uint(&j.User)
		codec.Optional(s, &j.Asks, func(a *NodeAsks) { a.Code(s) })
		if s.Reading {
			j.At = atPosition(position(last) + steps)
			if j.Procs < 1 || !(j.Limit >= 0 && j.Runtime >= 0) || !(j.At >= last && j.At <= Farthest) {
				s.Fail()
			}
		}
		last = j.At
	})
	if s.Reading && p.Seen < uint64(len(p.all)) {
		s.Fail()
	}
}
