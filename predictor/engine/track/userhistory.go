package track

import (
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
)

// lastWaits is the number of a user's newest waits that are kept.
const lastWaits = 8

// UserHistory has statistics of a user's jobs.
type UserHistory struct {
	LastEnd  float64        // instant, NaN for none
	OfLimits ForgettingMean // mean of runtime divided by time limit, at most 1.5 for a job; newer jobs count more
	waits    []float64      // the newest waits as logarithms, the newest last; replaced, never changed
	requests []requestStart
}

// requestStart is the newest start among a user's jobs with one request.
type requestStart struct {
	queue, procs int
	limit        float64
	LastStart
}

// mostRequests is the maximum number of remembered requests of a user, and of remembered sizes of a size class. The
// least recently changed one is dropped first.
const mostRequests = 16

func newUserHistory() UserHistory {
	return UserHistory{LastEnd: math.NaN()}
}

// Waits returns the mean, the minimum and the maximum of the newest waits, as logarithms, NaN without any.
func (h *UserHistory) Waits() (mean, least, most float64) {
	if len(h.waits) == 0 {
		nan := math.NaN()
		return nan, nan, nan
	}
	for _, z := range h.waits {
		mean += z / float64(len(h.waits))
	}
	return mean, slices.Min(h.waits), slices.Max(h.waits)
}

// OfRequest returns the newest start of a job with the same queue (by its code), size and limit. Its fields are NaN
// if there is none.
func (h *UserHistory) OfRequest(queue, procs int, limit float64) LastStart {
	for i := range h.requests {
		if r := &h.requests[i]; r.queue == queue && r.procs == procs && r.limit == limit {
			return r.LastStart
		}
	}
	return LastStart{math.NaN(), math.NaN()}
}

// started records a wait.
func (h *UserHistory) started(j *Job, l LastStart) {
	kept := h.waits[max(0, len(h.waits)-lastWaits+1):]
	h.waits = append(append(make([]float64, 0, lastWaits), kept...), l.Wait)
	queue := j.QueueState.Code
	h.requests = moveToEnd(h.requests, mostRequests, func(r requestStart) bool {
		return r.queue == queue && r.procs == j.Procs && r.limit == j.Limit
	})
	h.requests[len(h.requests)-1] = requestStart{queue, j.Procs, j.Limit, l}
}

// ended records the end of a job with the given runtime.
func (h *UserHistory) ended(now float64, j *Job, seconds float64) {
	h.LastEnd = now
	if j.Limit > 0 {
		h.OfLimits.Add(math.Min(1.5, seconds/j.Limit), .8)
	}
}

// freeze returns an immutable copy of the history.
func (h *UserHistory) freeze() UserHistory {
	f := *h
	f.requests = slices.Clone(h.requests)
	return f
}

func (h *UserHistory) code(s *codec.Codec) {
	s.Real(&h.LastEnd)
	codeMean(s, &h.OfLimits)
	s.Reals(&h.waits)
	codec.List(s, &h.requests, func(r *requestStart) {
		s.Int(&r.queue, &r.procs)
		s.Finite(&r.limit)
		s.Real(&r.At, &r.Wait)
	})
	if s.Reading && len(h.waits) > lastWaits {
		s.Fail()
	}
}

// sizeStart is the newest start among the jobs of one queue and exact size.
type sizeStart struct {
	procs int
	LastStart
}

// OfSize returns the newest start of a job of exactly that size. Its fields are NaN if there is none.
func (s *SimilarFacts) OfSize(procs int) LastStart {
	for i := range s.exact {
		if s.exact[i].procs == procs {
			return s.exact[i].LastStart
		}
	}
	return LastStart{math.NaN(), math.NaN()}
}

func (s *SimilarFacts) startedSize(procs int, l LastStart) {
	s.exact = moveToEnd(s.exact, mostRequests, func(e sizeStart) bool { return e.procs == procs })
	s.exact[len(s.exact)-1] = sizeStart{procs, l}
}

func codeSizes(s *codec.Codec, all *[]sizeStart) {
	codec.List(s, all, func(e *sizeStart) {
		s.Int(&e.procs)
		s.Real(&e.At, &e.Wait)
	})
}
