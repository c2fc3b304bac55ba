package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/predictor/engine/pools"
	"github.com/waitcast/waitcast/predictor/engine/rules"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// featureGroup is a group of features that are computed together, and that an ablation leaves out together
// (Config.Without).
type featureGroup struct {
	name     string
	features []string
	linear   bool // true if the linear quantiles use the features, too
	// write adds the features of a request to its row, in their order.
	write func(*featureRow)
}

// These groups have no features. Without them simulations ignore the gates and the fitted priorities.
const (
	withoutGates    = "gates"
	withoutPriority = "priority"
)

// featureGroups returns all groups but that of the oracle, in the order of a row.
func featureGroups() []featureGroup {
	return []featureGroup{
		{"request", []string{
			"procs", "limit", "area", "queue", "hour", "weekday", "expected_runtime",
		}, true, (*featureRow).request},
		{"machine", []string{
			"free", "free_minus_procs", "running_jobs", "running_work_left", "running_limits_left",
		}, true, (*featureRow).machine},
		{"waiting", []string{
			"waiting_jobs", "waiting_procs", "waiting_work", "smaller_jobs", "smaller_work", "shorter_jobs",
			"shorter_work", "smaller_and_shorter_jobs", "smaller_and_shorter_work", "queue_waiting_jobs",
			"queue_waiting_work", "queue_smaller_jobs", "queue_running_procs",
		}, true, (*featureRow).waiting},
		{"ages", []string{
			"oldest", "queue_oldest", "similar_oldest", "since_similar_start", "similar_last_wait", "since_start",
		}, true, (*featureRow).ages},
		{"user", []string{
			"user_waiting_jobs", "user_waiting_work", "user_running_jobs", "user_running_procs", "user_oldest",
			"user_since_submit", "user_same_request", "user_since_start", "user_last_wait", "user_alike_wait",
			"user_since_alike", "user_recent",
		}, true, (*featureRow).userFacts},
		{"recent", []string{
			"since_submit", "submit_rate", "recent_fast", "recent_slow", "recent_nothing", "queue_fast", "queue_slow",
			"queue_nothing", "similar_fast", "similar_slow", "similar_nothing",
		}, true, (*featureRow).recent},
		{"similar", []string{
			"newest_since_submit", "newest_wait", "similar_waiting_jobs", "favored_jobs", "favored_work",
			"queue_waiting_smaller_work",
		}, true, (*featureRow).similarJobs},
		{"qbets", []string{"qbets_median", "qbets_high"}, true, (*featureRow).bounds},
		{"simulation", []string{
			"plan", "simulated_p10", "simulated_p35", "simulated_median", "simulated_p75", "simulated_mean",
			"simulated_at_once",
		}, true, (*featureRow).simulation},
		{"vacancy", []string{
			"fits_in_by_limits", "free_in_1h_by_limits", "free_in_4h_by_limits", "fits_in_by_expected",
			"free_in_1h_by_expected", "free_in_4h_by_expected",
		}, false, (*featureRow).vacancy},
		{"fitting", []string{
			"fitting_jobs", "fitting_oldest", "fitting_newest", "fitting_dominated_jobs", "fitting_dominated_oldest",
			"fitting_queue_jobs", "fitting_queue_oldest", "free_minus_smaller",
		}, false, (*featureRow).fitting},
		{"crowd", []string{
			"larger_jobs", "larger_oldest", "smaller_oldest", "smaller_newest", "mean_age",
		}, false, (*featureRow).waitersBySize},
		{"newest", []string{
			"large_since_start", "large_last_wait", "large_since_submit", "large_starts",
			"long_since_start", "long_last_wait", "long_since_submit", "long_starts",
			"large_long_since_start", "large_long_last_wait", "large_long_since_submit", "large_long_starts",
			"large_long_least_wait", "large_long_most_wait",
		}, false, (*featureRow).newest},
		{"alike", []string{
			"size_last_wait", "since_size_start", "user_request_wait", "since_user_request_start",
		}, false, (*featureRow).alike},
		{"history", []string{
			"user_slow", "user_mean_wait", "user_least_wait", "user_longest_wait", "since_user_end",
			"user_part_of_limits", "user_end_to_submit", "user_same_size_jobs",
		}, false, (*featureRow).history},
		{"flow", []string{
			"since_end", "ended_procs_10min", "ended_procs_hour", "submits_10min", "submits_day",
		}, false, (*featureRow).flow},
		{"hazard", []string{
			"limit_hazard_02", "limit_hazard_07", "limit_hazard_16", "limit_hazard_now", "queue_hazard_02",
			"queue_hazard_07", "queue_hazard_16", "queue_hazard_now",
		}, false, (*featureRow).hazard},
		{"clock", []string{
			"until_peak", "peak_share", "until_half_of_starts", "until_tenth_of_starts",
		}, false, (*featureRow).clock},
		{"orders", orderNames(), false, (*featureRow).orders},
		// The groups below have no features.
		{withoutGates, nil, false, func(*featureRow) {}},
		{withoutPriority, nil, false, func(*featureRow) {}},
	}
}

// FeatureGroups returns the names that Config.Without takes.
func FeatureGroups() []string {
	var out []string
	for _, g := range featureGroups() {
		out = append(out, g.name)
	}
	return out
}

// features describes a row. It is immutable.
type features struct {
	groups  []featureGroup
	names   []string // the names of the features, in the order of a row
	linear  int      // number of leading features that linear quantiles use
	without []string // groups of features that are NaN, sorted
	silent  []bool   // by expert, true if the expert is left out; nil for none; not saved
	oracle  func(id uint64) float64
}

// newFeatures returns the features, those of an oracle included unless it is nil. Features of the given groups are NaN
// in all rows. The error names an unknown group.
func newFeatures(without []string, oracle func(id uint64) float64) (*features, error) {
	f := &features{groups: featureGroups(), without: slices.Compact(slices.Sorted(slices.Values(without))),
		oracle: oracle}
	if oracle != nil {
		f.groups = append(f.groups, oracleGroup())
	}
	for _, name := range f.without {
		if !slices.ContainsFunc(f.groups, func(g featureGroup) bool { return g.name == name }) {
			return nil, fmt.Errorf("no features are named %q; the groups are %s", name,
				strings.Join(FeatureGroups(), ", "))
		}
	}
	for _, g := range f.groups {
		f.names = append(f.names, g.features...)
		if g.linear {
			f.linear = len(f.names)
		}
	}
	return f, nil
}

// featureRow builds the row of a request.
type featureRow struct {
	*View
	*resolvedRequest
	experts *expertFeatures
	similar *track.SimilarFacts // facts about the jobs of the request's queue and size class
	// queueSmaller counts the waiting jobs of the queue in the request's size class and in smaller ones.
	queueSmaller track.Amount
	scratch      *scratch
	pool         *pools.Facts
	waiters      pools.Waiters
	out          []float32
}

// add appends features to the row.
func (r *featureRow) add(values ...float64) {
	for _, x := range values {
		r.out = append(r.out, float32(x))
	}
}

// addUnknown adds n unknown features.
func (r *featureRow) addUnknown(n int) {
	for range n {
		r.add(math.NaN())
	}
}

// unitCapacity stands for the machine's capacity in features: free processors are unitCapacity minus those of the
// running jobs, and work is in processor-seconds, not relative to the capacity. A known capacity is constant, so no
// information is lost. If the capacity is estimated, rows from before a better estimate would not be comparable with
// later rows. That increased the loss on the first half of SDSC-SP2 by 3 to 4 %.
const unitCapacity = 1.0

// row returns the features of a request at the view's instant, in the scratch memory.
func (v *View) row(j *resolvedRequest, h *expertFeatures, c *scratch) []float32 {
	r := &featureRow{View: v, resolvedRequest: j, experts: h, similar: j.queue.Sizes[j.size],
		out: slices.Grow(c.row[:0], len(v.features.names)), scratch: c, pool: v.poolOf(j.Queue)}
	r.waiters = r.pool.Waiters(v.Instant, &j.Request, j.user.Number)
	if r.similar == nil {
		r.similar = track.NoSimilarJobs()
	}
	_, r.queueSmaller, _ = j.queue.WaitingCounts.UpTo(j.size, track.Unlimited)
	for i := range v.features.groups {
		g := &v.features.groups[i]
		if slices.Contains(v.features.without, g.name) {
			r.addUnknown(len(g.features))
			continue
		}
		g.write(r)
	}
	return r.out
}

// logOf returns ln(seconds + 60), where negative seconds count as 0; NaN for NaN.
func logOf(seconds float64) float64 { return math.Log(math.Max(0, seconds) + waittime.Shift) }

func (r *featureRow) request() {
	limit := math.NaN()
	if r.Limit > 0 {
		limit = math.Log(r.Limit)
	}
	day := math.Mod(r.Instant, 86400) / 3600
	week := math.Floor(math.Mod(r.Instant, 7*86400) / 86400)
	procs := math.Log(float64(r.Procs))
	r.add(procs, limit, limit+procs, float64(r.queue.Code), day, week, logOf(r.expected))
}

func (r *featureRow) machine() {
	free := unitCapacity - r.Running.Procs
	r.add(free, free-float64(r.Procs), r.Running.Jobs, r.WorkLeft, r.LimitsLeft)
}

func (r *featureRow) waiting() {
	w := r.Waiting
	both, bySize, byLimit := w.UpTo(r.size, r.limit)
	r.add(w.Total.Jobs, w.Total.Procs, w.Total.Work)
	r.add(bySize.Jobs, bySize.Work, byLimit.Jobs, byLimit.Work, both.Jobs, both.Work)
	q := r.queue
	r.add(q.WaitingCounts.Total.Jobs, q.WaitingCounts.Total.Work, r.queueSmaller.Jobs, q.Running.Procs)
}

func (r *featureRow) ages() {
	now, s := r.Instant, r.similar
	r.add(now-r.Oldest, now-r.queue.Oldest, now-s.Oldest, now-s.LastStart, s.LastWait, now-r.LastStart)
}

func (r *featureRow) userFacts() {
	now, u := r.Instant, r.user
	same := 0.0
	if u.LastRequest.Procs == r.Procs && u.LastRequest.Limit == r.Limit && u.LastRequest.Queue == r.Queue {
		same = 1
	}
	alike := u.AlikeOf(r.queue.Code, r.size)
	r.add(u.Waiting.Jobs, u.Waiting.Work, u.Running.Jobs, u.Running.Procs, now-u.Oldest)
	r.add(now-u.LastSubmit, same, now-u.LastStart.At, u.LastStart.Wait, alike.Wait, now-alike.At, u.Recent.Fast.Value())
}

func (r *featureRow) recent() {
	all, q, s := &r.Recent, &r.queue.Recent, &r.similar.Recent
	r.add(r.Instant-r.LastSubmit, r.Rate.At(r.Instant), all.Fast.Value(), all.Slow.Value(), all.Nothing.Value())
	r.add(q.Fast.Value(), q.Slow.Value(), q.Nothing.Value())
	r.add(s.Fast.Value(), s.Slow.Value(), s.Nothing.Value())
}

func (r *featureRow) similarJobs() {
	fav := r.favored(r.queue)
	cell := r.queue.WaitingCounts.BySize(r.size)
	r.add(r.Instant-r.similar.Newest.Submit, r.similar.Newest.Wait, cell.Jobs, fav.Jobs, fav.Work,
		r.queueSmaller.Work)
}

func (r *featureRow) bounds() { r.add(r.experts.qbetsMedian, r.experts.qbetsHigh) }

func (r *featureRow) simulation() {
	r.add(r.experts.plan)
	r.add(r.experts.simulated[:]...)
}

// orderNames returns the names of the features that PlayOrders of package pools computes.
func orderNames() []string {
	var out []string
	for _, o := range rules.Orders() {
		out = append(out, "order_"+o.Name)
	}
	return append(out, "order_fitted")
}

func (r *featureRow) orders() {
	if r.experts.orders != nil {
		r.add(r.experts.orders...)
		return
	}
	r.addUnknown(pools.OrderCount())
}

// favored counts the waiting jobs of the queue q, and those of all queues with a mean of recent waits that is not
// longer than that of q.
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
