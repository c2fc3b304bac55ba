package accuracy

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor/coverage"
)

// Bounds defines which forecasts a summary counts, and as of which instant.
type Bounds struct {
	// Since and Until bound the times at which the waits of scored forecasts ended: at or after Since, and before
	// Until. A zero Until is no bound. Coverage counts the submissions at or after Since.
	Since, Until time.Time
	// AsOf is the instant up to which the ledger is complete. Coverage is as of AsOf, or as of Until if that is
	// earlier.
	AsOf time.Time
	// Seq is the number of the newest journal entry to include. Rows with a later number are not counted. 0 means no
	// bound.
	Seq int64
}

// Summary has the accuracy of forecasts by groups: the scores of ledger rows, and the coverage of submissions.
type Summary struct {
	bounds Bounds
	asOf   time.Time           // the coverage is as of this instant
	groups map[GroupKey]*Group // groups by queue and size
}

// NewSummary returns a summary without forecasts.
func NewSummary(b Bounds) *Summary {
	a := &Summary{bounds: b, asOf: b.AsOf, groups: map[GroupKey]*Group{}}
	if !b.Until.IsZero() && b.Until.Before(b.AsOf) {
		a.asOf = b.Until
	}
	return a
}

// AsOf returns the instant to which the coverage belongs.
func (a *Summary) AsOf() time.Time { return a.asOf }

// GroupKey identifies a group of forecasts.
type GroupKey struct {
	// Queue and Size are empty for a group of all queues or of all sizes. Otherwise Size is one of
	// waittime.SizeClasses.
	Queue, Size string
	// Replayed is true for forecasts that were made after the fact.
	Replayed bool
}

// Group is one group with its score and its coverage.
type Group struct {
	GroupKey
	*Score
	Submissions
}

// Add counts a ledger row, as far as it is within the bounds. It ignores a row whose levels are not waittime.Levels,
// because another version wrote it.
func (a *Summary) Add(row *modelstore.Row) {
	if a.bounds.Seq > 0 && row.Seq > a.bounds.Seq {
		return
	}
	if row.Quantiles != nil && !slices.Equal(row.Levels, waittime.Levels()) {
		return // another version wrote the row
	}
	closed := row.Closed()
	scored := !closed.Before(a.bounds.Since) && (a.bounds.Until.IsZero() || closed.Before(a.bounds.Until))
	covered := row.Quantiles != nil && a.covers(row.Submit)
	if !scored && !covered {
		return
	}
	g := a.of(row.Queue, row.Procs, row.Replayed)
	if scored {
		g.Score.Add(row)
	}
	if covered {
		g.add(submissionOf(row, a.asOf), row.Quantiles, row.Peers)
	}
}

// AddWaiting counts a waiting job in the coverage, if it was submitted within the bounds.
func (a *Summary) AddWaiting(w *Waiting) {
	if !a.covers(w.Submit) {
		return
	}
	a.of(w.Queue, w.Procs, w.Replayed).add(coverage.StillWaiting(a.asOf.Sub(w.Submit).Seconds()), w.Quantiles, w.Peers)
}

// covers reports whether the coverage includes a submission at the given time.
func (a *Summary) covers(submit time.Time) bool {
	return !submit.Before(a.bounds.Since) && !submit.After(a.asOf)
}

// of returns the group of the jobs of a queue and size, and of live or replayed forecasts. It creates the group if it
// is missing.
func (a *Summary) of(queue string, procs int, replayed bool) *Group {
	return groupOf(a.groups, GroupKey{queue, waittime.SizeClass(procs), replayed})
}

// groupOf returns the group with the key k, and creates it if it is missing.
func groupOf(groups map[GroupKey]*Group, k GroupKey) *Group {
	if groups[k] == nil {
		groups[k] = &Group{
			GroupKey: k, Score: NewScore(len(waittime.Levels())), Submissions: Submissions{Served: newCoverage()},
		}
	}
	return groups[k]
}

// Groups returns the groups in two parts: those of all queues together, then those of single queues. In each part live
// forecasts come first, and the group of all sizes of a queue comes before the groups of its sizes. Jobs of a log
// without queues are only in the first part.
func (a *Summary) Groups() []*Group {
	sums, leaves := map[GroupKey]*Group{}, slices.SortedFunc(maps.Values(a.groups), byPlace)
	for _, g := range leaves { // in a fixed order, because the last digits of sums of losses depend on the order
		k := g.GroupKey
		of := []GroupKey{{"", "", k.Replayed}, {k.Queue, "", k.Replayed}}
		if k.Queue == "" {
			of = of[:1]
		}
		for _, sum := range of {
			to := groupOf(sums, sum)
			to.Merge(g.Score)
			to.Submissions.merge(&g.Submissions)
		}
	}
	return slices.SortedFunc(slices.Values(slices.AppendSeq(leaves, maps.Values(sums))), byPlace)
}

// byPlace compares two groups by their places in the result of Groups.
func byPlace(a, b *Group) int {
	return cmp.Or(
		cmp.Compare(count(a.Queue != ""), count(b.Queue != "")), cmp.Compare(count(a.Replayed), count(b.Replayed)),
		cmp.Compare(a.Queue, b.Queue), cmp.Compare(SizeRank(a.Size), SizeRank(b.Size)))
}
