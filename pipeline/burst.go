package pipeline

import (
	"hash/fnv"
	"iter"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/workload/clean"
)

// burstAge is how long ago the newest submission of a burst may be for it to be under way. Ours.
const burstAge = time.Hour

// submitter is a user in a queue: his number where the history has one, else the hash of his name.
type submitter struct {
	queue string
	user  uint64
}

// unnumbered marks the hash of a user's name of whom no job has left yet.
const unnumbered = 1 << 63

// Bursts returns the jobs of the largest burst of one user that is under way in each queue that has one. It is one if the user submitted as many jobs to the queue within a day
// up to his newest as make a flurry, and that newest is at most an hour old. least tells how many those are in a queue, see Analysis.Flurry.
func (v *View) Bursts(least func(queue string) float64) map[string]int {
	out := map[string]int{}
	oldest := v.At.Add(-burstAge - clean.FlurryWindow).UnixMilli()
	submits := map[submitter][]int64{}
	for r := range v.Models.History.leftSince(oldest) {
		if r.user != 0 && r.submit >= oldest {
			s := submitter{v.Models.History.queues[r.queue], uint64(r.user)}
			submits[s] = append(submits[s], r.submit)
		}
	}
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			if at := j.Order.UnixMilli(); j.User != "" && at >= oldest {
				s := submitter{j.Queue, v.Models.History.numberOf(j.User)}
				for range tasks(j) {
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

// userHash stands for a user's name.
func userHash(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // never fails
	return hash.Sum64()
}

// numbered returns the users' numbers by the hash of their names. The map is never changed.
func (h *history) numbered() map[uint64]uint32 {
	if h.numbers == nil {
		h.numbers = make(map[uint64]uint32, len(h.users))
		for hash, u := range h.users {
			h.numbers[hash] = u.number
		}
	}
	return h.numbers
}

func (v *HistoryView) numberOf(user string) uint64 {
	hash := userHash(user)
	if n, ok := v.numbers[hash]; ok {
		return uint64(n)
	}
	return hash | unnumbered
}

// newest returns the jobs that left last, at most so many, the newest first.
func (v *HistoryView) newest(most int) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, b := range slices.Backward(v.blocks) {
			for i := len(b) - 1; i >= 0; i-- {
				if most--; most < 0 || !yield(&b[i]) {
					return
				}
			}
		}
	}
}

// leftSince returns the jobs of the blocks that hold those that left since an instant, in Unix milliseconds, the newest first: others are among them.
func (v *HistoryView) leftSince(oldest int64) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, b := range slices.Backward(v.blocks) {
			since := false
			for i := len(b) - 1; i >= 0; i-- {
				r := &b[i]
				since = since || r.submit+int64((max(r.wait, 0)+max(r.runtime, 0))*1000) >= oldest
				if !yield(r) {
					return
				}
			}
			if !since {
				return
			}
		}
	}
}
