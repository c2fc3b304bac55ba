package engine

import (
	"math"

	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// vacancy adds the time until the request would fit, and the numbers of free processors in an hour and in four hours:
// first if all jobs run to their limits, then if all run as long as expected.
func (r *featureRow) vacancy() {
	v := r.pool.Vacancy(r.Instant, &r.Request, &r.scratch.Scratch)
	for _, by := range [...]pools.VacancyBy{v.ByLimits, v.ByExpected} {
		r.add(logOf(by.Seconds), by.InAnHour, by.InFourHours)
	}
}

func (r *featureRow) fitting() {
	w := &r.waiters
	r.add(w.Fitting.Jobs, logOf(w.Fitting.Oldest), logOf(w.Fitting.Newest), w.Dominated.Jobs, logOf(w.Dominated.Oldest),
		w.OfQueue.Jobs, logOf(w.OfQueue.Oldest), float64(r.pool.Free(r.Instant))-w.SmallerProcs)
}

// waitersBySize adds the number of waiting jobs that are larger than the request and their longest wait so far. It also
// adds the longest and the shortest wait so far of the others, and the mean of all.
func (r *featureRow) waitersBySize() {
	w := &r.waiters
	r.add(w.Larger.Jobs, logOf(w.Larger.Oldest), logOf(w.Smaller.Oldest), logOf(w.Smaller.Newest), logOf(w.MeanAge))
}

// newestKind summarizes the starts of the last day of one kind of jobs, such as jobs at least as large as the request.
type newestKind struct {
	last        *track.StartRecord // the newest start
	submit      float64            // the latest submission of the jobs that started
	starts      float64            // the number of starts in the last six hours
	least, most float64            // the extreme waits of the last six hours and of the newest start, as logarithms
}

// add adds a start. recent is true if the start is of the last six hours. The newest start must be added first.
func (k *newestKind) add(s *track.StartRecord, recent bool) {
	if k.last == nil {
		*k = newestKind{last: s, submit: s.Submit, least: s.Wait, most: s.Wait}
	}
	k.submit = max(k.submit, s.Submit)
	if recent {
		k.starts++
		k.least, k.most = min(k.least, s.Wait), max(k.most, s.Wait)
	}
}

// newest adds features of the starts of the last day, by three kinds of jobs: at least as large as the request, with at
// least its time limit, and both.
func (r *featureRow) newest() {
	var large, long, both newestKind
	limit := r.Limit
	if limit <= 0 {
		limit = math.Inf(1)
	}
	for i := len(r.Starts) - 1; i >= 0; i-- {
		s := &r.Starts[i]
		ago := r.Instant - s.At
		if ago > track.Day {
			break
		}
		recent, isLong := ago < 6*track.Hour, s.Limit >= limit || s.Limit <= 0
		if s.Procs >= r.Procs {
			large.add(s, recent)
			if isLong {
				both.add(s, recent)
			}
		}
		if isLong {
			long.add(s, recent)
		}
	}
	for _, k := range [...]*newestKind{&large, &long, &both} {
		if k.last == nil {
			r.addUnknown(3)
		} else {
			r.add(logOf(r.Instant-k.last.At), k.last.Wait, logOf(r.Instant-k.submit))
		}
		r.add(k.starts)
	}
	if both.last == nil {
		r.addUnknown(2)
		return
	}
	r.add(both.least, both.most)
}

func (r *featureRow) alike() {
	for _, l := range [...]track.LastStart{
		r.similar.OfSize(r.Procs), r.user.History.OfRequest(r.queue.Code, r.Procs, r.Limit),
	} {
		r.add(l.Wait, logOf(r.Instant-l.At))
	}
}

func (r *featureRow) history() {
	h, now := &r.user.History, r.Instant
	mean, least, longest := h.Waits()
	sinceEnd := logOf(now - h.LastEnd)
	r.add(r.user.Recent.Slow.Value(), mean, least, longest, sinceEnd, h.OfLimits.Value(),
		sinceEnd-logOf(now-r.user.LastSubmit), r.waiters.SameUser.Jobs)
}

func (r *featureRow) flow() {
	f, now := &r.Flow, r.Instant
	r.add(logOf(now-f.LastEnd), f.EndedSoon.At(now, track.TenMinutes), f.EndedHour.At(now, track.Hour),
		f.SubmittedSoon.At(now, track.TenMinutes), f.SubmittedDay.At(now, track.Day))
}

func (r *featureRow) hazard() {
	for _, h := range [...]*track.WeekHazard{r.Clocks[r.limit].Week, r.queue.Clock} {
		if h == nil {
			r.addUnknown(4)
			continue
		}
		for _, level := range [...]float64{.2, .7, 1.6} {
			r.add(logOf(h.Until(r.Instant, level)))
		}
		r.add(math.Log(h.Rate(r.Instant)))
	}
}

func (r *featureRow) clock() {
	c := r.Clocks[r.limit].Day
	if c == nil {
		r.addUnknown(4)
		return
	}
	peak, share := c.UntilPeak(r.Instant)
	r.add(logOf(peak), share, logOf(c.Until(r.Instant, .5)), logOf(c.Until(r.Instant, .1)))
}
