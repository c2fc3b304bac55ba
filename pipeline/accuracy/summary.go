package accuracy

import (
	"cmp"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// Summary reports how forecasts turned out, by groups of ledger rows. The zero value is empty.
type Summary struct {
	groups map[GroupKey]*Score
}

// GroupKey names the forecasts of a group.
type GroupKey struct {
	// Queue and Size are empty for all together. Size is one of waittime.SizeClasses.
	Queue, Size string
	// Replayed is true for forecasts that were made after the fact.
	Replayed bool
}

// Add counts a row in its own group, in that of its queue, and in that of all.
func (a *Summary) Add(row *modelstore.Row) {
	if a.groups == nil {
		a.groups = map[GroupKey]*Score{}
	}
	if row.Quantiles != nil && !slices.Equal(row.Levels, waittime.Levels()) {
		return // of another program
	}
	for _, k := range [...]GroupKey{
		{row.Queue, waittime.SizeClass(row.Procs), row.Replayed}, {row.Queue, "", row.Replayed}, {"", "", row.Replayed},
	} {
		s := a.groups[k]
		if s == nil {
			s = NewScore(len(waittime.Levels()))
			a.groups[k] = s
		}
		s.Add(row)
	}
}

// Group is one group with its score.
type Group struct {
	GroupKey
	*Score
}

// Groups returns the groups: those of all queues together, then each queue and size. In both parts forecasts that were
// made live come first.
func (a *Summary) Groups() []Group {
	out := make([]Group, 0, len(a.groups))
	for k, s := range a.groups {
		out = append(out, Group{k, s})
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(
			cmp.Compare(count(a.Queue != ""), count(b.Queue != "")), cmp.Compare(count(a.Replayed), count(b.Replayed)),
			cmp.Compare(a.Queue, b.Queue), cmp.Compare(SizeRank(a.Size), SizeRank(b.Size)))
	})
	return out
}
