package engine

import (
	"math"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// featureCount is how many features there are: a row has room for them and no more.
const featureCount = 69

// names are the features' names, in the order of a row.
func names() []string {
	return []string{
		"procs", "limit", "area", "queue", "hour", "weekday", "expected_runtime",
		"free", "free_minus_procs", "running_jobs", "running_work_left", "running_limits_left",
		"waiting_jobs", "waiting_procs", "waiting_work",
		"smaller_jobs", "smaller_work", "shorter_jobs", "shorter_work", "smaller_and_shorter_jobs",
		"smaller_and_shorter_work", "queue_waiting_jobs", "queue_waiting_work", "queue_smaller_jobs",
		"queue_running_procs", "oldest", "queue_oldest", "similar_oldest", "since_similar_start", "similar_last_wait",
		"since_start", "user_waiting_jobs", "user_waiting_work", "user_running_jobs", "user_running_procs",
		"user_oldest",
		"user_since_submit", "user_same_request", "user_since_start", "user_last_wait", "user_alike_wait",
		"user_since_alike", "user_recent", "since_submit", "submit_rate", "recent_fast", "recent_slow",
		"recent_nothing", "queue_fast", "queue_slow", "queue_nothing", "similar_fast", "similar_slow",
		"similar_nothing",
		"newest_since_submit", "newest_wait", "similar_waiting_jobs", "favored_jobs", "favored_work",
		"queue_waiting_smaller_work", "qbets_median", "qbets_high", "plan", "simulated_p10", "simulated_p35",
		"simulated_median", "simulated_p75", "simulated_mean", "simulated_at_once",
	}
}

// logOf returns ln(seconds + 60), NaN for NaN.
func logOf(seconds float64) float64 { return math.Log(math.Max(0, seconds) + waittime.Shift) }

// row writes the features of a request at an instant.
func (v *View) row(j *resolvedRequest, h *expertFeatures) []float32 {
	now := v.Instant
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
	capacity := float64(max(1, v.Capacity))
	add(math.Log(float64(j.Procs)), limit, limit+math.Log(float64(j.Procs)), float64(j.queue.Code), day, week,
		logOf(j.expected))

	free := capacity - v.Running.Procs
	add(free, free-float64(j.Procs), v.Running.Jobs, v.WorkLeft/capacity, v.LimitsLeft/capacity)

	w := v.Waiting
	both, bySize, byLimit := w.UpTo(j.size, j.limit)
	add(w.Total.Jobs, w.Total.Procs, w.Total.Work/capacity)
	add(bySize.Jobs, bySize.Work/capacity, byLimit.Jobs, byLimit.Work/capacity, both.Jobs, both.Work/capacity)
	q := j.queue
	_, queueSmaller, _ := q.WaitingCounts.UpTo(j.size, track.Unlimited)
	add(q.WaitingCounts.Total.Jobs, q.WaitingCounts.Total.Work/capacity, queueSmaller.Jobs, q.Running.Procs)

	s := q.Sizes[j.size]
	if s == nil {
		s = track.NoSimilarJobs()
	}
	add(now-v.Oldest, now-q.Oldest, now-s.Oldest, now-s.LastStart, s.LastWait, now-v.LastStart)

	u := j.user
	same := 0.0
	if u.LastRequest.Procs == j.Procs && u.LastRequest.Limit == j.Limit && u.LastRequest.Queue == j.Queue {
		same = 1
	}
	alike := u.AlikeOf(q.Code, j.size)
	add(u.Waiting.Jobs, u.Waiting.Work/capacity, u.Running.Jobs, u.Running.Procs, now-u.Oldest)
	add(now-u.LastSubmit, same, now-u.LastStart.At, u.LastStart.Wait, alike.Wait, now-alike.At, u.Recent.Fast.Value())
	add(now-v.LastSubmit, v.Rate.At(now), v.Recent.Fast.Value(), v.Recent.Slow.Value(), v.Recent.Nothing.Value())
	add(q.Recent.Fast.Value(), q.Recent.Slow.Value(), q.Recent.Nothing.Value())
	add(s.Recent.Fast.Value(), s.Recent.Slow.Value(), s.Recent.Nothing.Value())
	fav := v.favored(q)
	cell := q.WaitingCounts.BySize(j.size)
	add(now-s.Newest.Submit, s.Newest.Wait, cell.Jobs, fav.Jobs, fav.Work/capacity, queueSmaller.Work/capacity)
	add(h.qbetsMedian, h.qbetsHigh, h.plan)
	add(h.simulated[:]...)
	return out
}

// favored returns what waits in the queue itself and in all whose jobs have lately waited less.
func (v *View) favored(q *track.QueueFacts) track.Amount {
	mine := q.Recent.Slow.Value()
	out := q.WaitingCounts.Total
	for _, other := range v.Queues.All {
		if other.Name != q.Name && other.Recent.Slow.Value() <= mine {
			out.Plus(other.WaitingCounts.Total)
		}
	}
	return out
}
