package readmodel

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/workload/clean"
)

// burstAge is the maximum age of the newest submission of a burst that counts as in progress. The value is a free
// choice.
const burstAge = time.Hour

// burstTasks is the maximum number of tasks of one array that count as submissions. It bounds the work for a view. The
// value is a free choice.
const burstTasks = 1000

// submitter is a user in a queue. user is the number from HistoryView.UserNumber.
type submitter struct {
	queue string
	user  uint64
}

// Bursts returns the size of the largest burst in progress for each queue that has one. A burst has the submissions of
// one user to a queue within the day before that user's newest submission. It is in progress if the newest submission
// is at most burstAge old, and it counts if it has at least as many submissions as a flurry. least returns the minimum
// number of jobs of a flurry in a queue (see Analysis.Flurry).
func (v *View) Bursts(least func(queue string) float64) map[string]int {
	out := map[string]int{}
	oldest := v.At.Add(-burstAge - clean.FlurryWindow).UnixMilli()
	submits := map[submitter][]int64{}
	for r := range v.Models.History.LeftSince(oldest) {
		if r.User != 0 && r.Submit >= oldest {
			s := submitter{r.Queue, r.User}
			submits[s] = append(submits[s], r.Submit)
		}
	}
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			if at := j.Order.UnixMilli(); j.User != "" && at >= oldest {
				s := submitter{j.Queue, v.Models.History.UserNumber(j.User)}
				for range min(max(1, j.Tasks), burstTasks) {
					submits[s] = append(submits[s], at)
				}
			}
		}
	}
	for s, times := range submits {
		newest := slices.Max(times)
		if newest < v.At.Add(-burstAge).UnixMilli() {
			continue
		}
		n := 0
		for _, at := range times {
			if at > newest-clean.FlurryWindow.Milliseconds() {
				n++
			}
		}
		if n > out[s.queue] && float64(n) >= least(s.queue) {
			out[s.queue] = n
		}
	}
	return out
}
