package pipeline

import (
	"cmp"
	"slices"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// Accuracy is how forecasts turned out, put together from rows of the ledger. The zero value is empty.
type Accuracy struct {
	groups map[AccuracyKey]*Score
}

// AccuracyKey says whose forecasts a group is of.
type AccuracyKey struct {
	// Queue and Size are empty for all together. Size is one of SizeClasses.
	Queue, Size string
	// Replayed says that the forecasts were made after the fact.
	Replayed bool
}

// Add takes in a row: it counts in its own group, in that of its queue, and in that of all.
func (a *Accuracy) Add(row *modelstore.Row) {
	if a.groups == nil {
		a.groups = map[AccuracyKey]*Score{}
	}
	if row.Quantiles != nil && !slices.Equal(row.Levels, waittime.Levels()) {
		return // of another program
	}
	for _, k := range [...]AccuracyKey{
		{row.Queue, waittime.SizeClass(row.Procs), row.Replayed}, {row.Queue, "", row.Replayed}, {"", "", row.Replayed},
	} {
		s := a.groups[k]
		if s == nil {
			s = newScore(len(waittime.Levels()))
			a.groups[k] = s
		}
		s.add(row)
	}
}

// AccuracyGroup is one group.
type AccuracyGroup struct {
	AccuracyKey
	*Score
}

// Groups returns the groups: those of all queues together, then each queue and size. What was made live comes first in both parts.
func (a *Accuracy) Groups() []AccuracyGroup {
	out := make([]AccuracyGroup, 0, len(a.groups))
	for k, s := range a.groups {
		out = append(out, AccuracyGroup{k, s})
	}
	slices.SortFunc(out, func(a, b AccuracyGroup) int {
		return cmp.Or(cmp.Compare(count(a.Queue != ""), count(b.Queue != "")), cmp.Compare(count(a.Replayed), count(b.Replayed)), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(sizeRank(a.Size), sizeRank(b.Size)))
	})
	return out
}

func sizeRank(size string) int { return slices.Index(waittime.SizeClasses(), size) }
