package pools

import (
	"math"
	"slices"
	"sort"

	"github.com/waitcast/waitcast/predictor/engine/track"
	"github.com/waitcast/waitcast/predictor/forward"
)

// playedTasks is the maximum number of simulated jobs that stand for the waiting tasks of one array with a throttle.
// With many arrays the maximum is mostTasks divided by the number of arrays, but at least leastTasks. In a larger array
// each simulated job stands for several tasks that run one after another.
const playedTasks, leastTasks, mostTasks = 128, 8, 512

// eachTask returns the jobs, with each array that has a throttle replaced by jobs that stand for its tasks (see
// playedTasks). The last of these has the array's key.
func eachTask(all []Member) []Member {
	arrays := 0
	for i := range all {
		if all[i].tasks > 1 {
			arrays++
		}
	}
	if arrays == 0 {
		return all
	}
	most := min(playedTasks, max(leastTasks, mostTasks/arrays))
	var out []Member
	for i := range all {
		out = appendTasks(out, &all[i], max(1, all[i].tasks), most)
	}
	return out
}

// appendTasks appends jobs that stand for the given number of tasks of the array w to a list. There is a job for each
// task, but the number of jobs is limited to most. If there are more tasks, a job stands for several tasks that run one
// after another, and has the sum of their time limits.
func appendTasks(to []Member, w *Member, tasks, most int) []Member {
	played := min(tasks, most)
	for i := range played {
		one := *w
		if left := played - 1 - i; left > 0 {
			one.key ^= uint64(left) << 48 //nolint:gosec // fewer than 2^16: ids are below 2^48
		}
		one.tasks, one.runs = 0, tasks/played
		if i < tasks%played {
			one.runs++
		}
		one.Limit *= float64(one.runs)
		to = append(to, one)
	}
	return to
}

// withTasks returns f, unless the request r stands for several tasks of an array. Then it returns a copy of f in which
// all tasks but the last wait ahead of the request, which is the last task. r may be nil.
func (f *Facts) withTasks(at float64, r *RankedRequest) *Facts {
	if r == nil || r.Tasks < 2 {
		return f
	}
	like := r.ruleJob(f, at)
	w := Member{key: math.MaxUint64 >> 16, group: r.User, Procs: r.Procs, rank: f.rankOf(&r.Request), Limit: r.Limit,
		Submit: at, Expected: r.Expected, Queue: r.Queue, queueWait: like.QueueWait, own: like.Own, use: r.Use,
		bounds: r.Bounds, asks: r.NodeAsks(), needs: f.needsOf(r)}
	w.Law = f.lawLike(&w)
	g := *f
	place := len(f.queued)
	if f.fitted == nil && f.ranked() {
		place = sort.Search(len(f.queued), func(i int) bool { return f.queued[i].rank > w.rank })
	}
	g.queued = slices.Insert(slices.Clone(f.queued), place, appendTasks(nil, &w, r.Tasks-1, playedTasks)...)
	return &g
}

// ranked reports whether the pool's policy orders jobs by rank.
func (f *Facts) ranked() bool { return f.policy.ByRank() }

// lawLike returns the law of lifetimes of the pool's newest job that has the user and queue of w. It returns nil if
// there is no such job, or if the user is unknown.
func (f *Facts) lawLike(w *Member) (law *track.Law) {
	newest := uint64(0)
	for _, jobs := range [...][]Member{f.queued, f.Running} {
		for i := range jobs {
			if j := &jobs[i]; w.group != 0 && j.group == w.group && j.Queue == w.Queue && j.key >= newest {
				law, newest = j.Law, j.key
			}
		}
	}
	return law
}

// law returns the law of lifetimes by which a waiting job is simulated. A job without a known law runs as long as
// expected.
func (w *Member) law() forward.Law {
	var law forward.Law = w.Law
	if w.Law == nil {
		law = certain(w.Expected)
	}
	if w.runs > 1 {
		return repeated{law, float64(w.runs)}
	}
	return law
}

// certain is the law of jobs that run for exactly the given number of seconds.
type certain float64

// Residual implements forward.Law.
func (c certain) Residual(age, _ float64) float64 { return math.Max(0, float64(c)-age) }

// repeated is the law of the total runtime of consecutive jobs that all run equally long. of is the law of one of them,
// runs is their number.
type repeated struct {
	of   forward.Law
	runs float64
}

// Residual implements forward.Law. It ignores the age, because only waiting jobs use it.
func (r repeated) Residual(_, u float64) float64 { return r.runs * r.of.Residual(0, u) }
