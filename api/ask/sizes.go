package ask

import (
	"errors"
	"fmt"
	"slices"

	"github.com/waitcast/waitcast/workload/speedup"
)

// mostCandidates is the maximum number of candidates of one request. Each needs a forecast.
const mostCandidates = 1024

// mostInRange is the maximum length of a range in which every size is tried. From a longer range, ladder selects some
// sizes.
const mostInRange = 64

// readSizes makes and checks the list of sizes, with the size that the user would request without advice. It also
// checks that the time limit and its factor are not both given.
func (q *sizeQuery) readSizes() error {
	r := q.req
	switch {
	case r.TimeLimit != "" && r.TimeLimitFactor != 0:
		return Invalid("time_limit_factor", "give this or time_limit")
	case r.TimeLimitFactor != 0 && !(r.TimeLimitFactor >= 1 && r.TimeLimitFactor <= 1e6):
		return Invalid("time_limit_factor", "want a number from 1")
	case len(r.Sizes) > 0 && (r.Min > 0 || r.Max > 0):
		return Invalid("sizes", "give these or min and max")
	case r.Max > 0 && r.Min > r.Max:
		return Invalid("min", fmt.Sprintf("%d is more than max, %d", r.Min, r.Max))
	}
	q.named = len(r.Sizes) > 0
	if q.named {
		q.sizes = slices.Compact(slices.Sorted(slices.Values(r.Sizes)))
	} else if err := q.between(); err != nil {
		return err
	}
	if q.sizes[0] < 1 {
		return Invalid("sizes", fmt.Sprintf("%d processors; want 1 or more", q.sizes[0]))
	}
	if r.Request != nil && q.job == nil {
		if n := r.Request.Procs; !slices.Contains(q.sizes, n) {
			q.sizes = append(q.sizes, n)
		}
	}
	if n := len(q.sizes) * len(q.targets); n > mostCandidates {
		return Invalid("sizes", fmt.Sprintf("%d candidates; at most %d are compared", n, mostCandidates))
	}
	return nil
}

// between sets sizes to those from min to max of the request (to a selection of them if they are many, see ladder). A
// missing bound is replaced by the smallest or largest size for which the runtime is known; a missing max is at most
// the size of the largest queue.
func (q *sizeQuery) between() error {
	from, to := max(1, q.req.Min), 0
	for i := range q.targets {
		to = max(to, q.targets[i].most)
	}
	if q.req.Max > 0 {
		to = q.req.Max
	}
	if to == 0 {
		return Invalid("max", "the machine's size is not known: name the sizes, or the largest")
	}
	var gap *speedup.SizeError
	if _, err := q.curve.Runtime(from); q.req.Min == 0 && errors.As(err, &gap) {
		from = gap.From
	}
	if _, err := q.curve.Runtime(to); q.req.Max == 0 && errors.As(err, &gap) && gap.To > 0 {
		to = gap.To
	}
	if from > to {
		return Invalid("sizes",
			fmt.Sprintf("none is left: they go from %d, and the machine or the runtimes end at %d", from, to))
	}
	q.sizes = ladder(from, to)
	return nil
}

// ladder returns the sizes between two bounds: all of them if there are few, otherwise the bounds, the powers of two
// and the sizes halfway between those.
func ladder(from, to int) []int {
	var out []int
	if to-from < mostInRange {
		for n := from; n <= to; n++ {
			out = append(out, n)
		}
		return out
	}
	out = append(out, from, to)
	for n := 1; n < to; n *= 2 {
		for _, size := range [...]int{n, n + n/2} {
			if size > from && size < to {
				out = append(out, size)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
