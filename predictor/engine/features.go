package engine

import "math"

// featureCount is how many features there are: a row has room for them and no more.
const featureCount = 69

// names are the features' names, in the order of a row.
func names() []string {
	return []string{
		"procs", "limit", "area", "queue", "hour", "weekday", "expected_runtime",
		"free", "free_minus_procs", "running_jobs", "running_work_left", "running_limits_left",
		"waiting_jobs", "waiting_procs", "waiting_work",
		"smaller_jobs", "smaller_work", "shorter_jobs", "shorter_work", "smaller_and_shorter_jobs", "smaller_and_shorter_work",
		"queue_waiting_jobs", "queue_waiting_work", "queue_smaller_jobs", "queue_running_procs",
		"oldest", "queue_oldest", "similar_oldest", "since_similar_start", "similar_last_wait", "since_start",
		"user_waiting_jobs", "user_waiting_work", "user_running_jobs", "user_running_procs", "user_oldest",
		"user_since_submit", "user_same_request", "user_since_start", "user_last_wait", "user_alike_wait", "user_since_alike", "user_recent",
		"since_submit", "submit_rate", "recent_fast", "recent_slow", "recent_nothing",
		"queue_fast", "queue_slow", "queue_nothing", "similar_fast", "similar_slow", "similar_nothing",
		"newest_since_submit", "newest_wait", "similar_waiting_jobs", "favored_jobs", "favored_work", "queue_waiting_smaller_work",
		"qbets_median", "qbets_high", "plan",
		"simulated_p10", "simulated_p35", "simulated_median", "simulated_p75", "simulated_mean", "simulated_at_once",
	}
}

// logOf returns ln(seconds + 60), NaN for NaN.
func logOf(seconds float64) float64 { return math.Log(math.Max(0, seconds) + Shift) }

// row writes the features of a request at an instant.
func (v *View) row(j *asked, h *hint) []float32 {
	now := v.at
	out := make([]float32, 0, featureCount)
	add := func(values ...float64) {
		for _, x := range values {
			out = append(out, float32(x))
		}
	}
	limit := math.NaN()
	if j.Limit > 0 {
		limit = math.Log(j.Limit)
	}
	day := math.Mod(now, 86400) / 3600
	week := math.Floor(math.Mod(now, 7*86400) / 86400)
	capacity := float64(max(1, v.capacity))
	add(math.Log(float64(j.Procs)), limit, limit+math.Log(float64(j.Procs)), float64(j.queue.code), day, week, logOf(j.expected))

	free := capacity - v.running.procs
	add(free, free-float64(j.Procs), v.running.jobs, v.workLeft/capacity, v.limitsLeft/capacity)

	w := v.waiting
	both, bySize, byLimit := w.upTo(j.size, j.limit)
	add(w.total.jobs, w.total.procs, w.total.work/capacity)
	add(bySize.jobs, bySize.work/capacity, byLimit.jobs, byLimit.work/capacity, both.jobs, both.work/capacity)
	q := j.queue
	_, queueSmaller, _ := q.tally.upTo(j.size, unlimited)
	add(q.tally.total.jobs, q.tally.total.work/capacity, queueSmaller.jobs, q.running.procs)

	s := q.sizes[j.size]
	if s == nil {
		s = &newSimilar().similarFacts
	}
	add(now-v.oldest, now-q.oldest, now-s.oldest, now-s.lastStart, s.lastWait, now-v.lastStart)

	u := j.user
	same := 0.0
	if u.lastRequest.Procs == j.Procs && u.lastRequest.Limit == j.Limit && u.lastRequest.Queue == j.Queue {
		same = 1
	}
	alike := u.alikeOf(q.code, j.size)
	add(u.waiting.jobs, u.waiting.work/capacity, u.running.jobs, u.running.procs, now-u.oldest)
	add(now-u.lastSubmit, same, now-u.lastStart.at, u.lastStart.wait, alike.wait, now-alike.at, u.recent.fast.value())
	add(now-v.lastSubmit, v.rate.at(now), v.recent.fast.value(), v.recent.slow.value(), v.recent.nothing.value())
	add(q.recent.fast.value(), q.recent.slow.value(), q.recent.nothing.value())
	add(s.recent.fast.value(), s.recent.slow.value(), s.recent.nothing.value())
	fav := v.favored(q)
	cell := q.tally.bySize(j.size)
	add(now-s.newest.submit, s.newest.wait, cell.jobs, fav.jobs, fav.work/capacity, queueSmaller.work/capacity)
	add(h.qbetsMedian, h.qbetsHigh, h.plan)
	add(h.simulated[:]...)
	return out
}

// favored returns what waits in the queue itself and in all whose jobs have lately waited less.
func (v *View) favored(q *queueFacts) amount {
	mine := q.recent.slow.value()
	out := q.tally.total
	for _, other := range v.queues.all {
		if other.name != q.name && other.recent.slow.value() <= mine {
			out.plus(other.tally.total)
		}
	}
	return out
}

// workLeft returns the work that the running jobs are expected to do yet, and that they may do by their limits.
func (e *Engine) workLeft(now float64) (expected, limits float64) {
	for _, j := range e.runningJobs {
		age := math.Max(0, now-j.start)
		left := math.Max(j.expected-age, 0)
		expected += float64(j.Procs) * left
		if j.Limit > 0 {
			limits += float64(j.Procs) * math.Max(j.Limit-age, 0)
		} else {
			limits += float64(j.Procs) * left
		}
	}
	return expected, limits
}

// rate is an exponentially forgetting rate of events per hour.
type rate struct{ value, last float64 }

const rateMemory = 3600

func (r *rate) at(now float64) float64 {
	return r.value * math.Exp(-math.Max(0, now-r.last)/rateMemory)
}

func (r *rate) add(now float64) {
	r.value = r.at(now) + 1
	r.last = math.Max(r.last, now)
}
