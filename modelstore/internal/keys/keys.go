// Package keys combines the keys of a job's events from two parts of a store: from the journal, and from the ledger,
// which still has keys of pruned events.
package keys

import (
	"slices"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// Closed returns the keys of the two events that a row of the ledger stands for: the submission, and the start or
// cancellation. k has the row's values, and its Time is the time at which the row was closed.
func Closed(k modelstore.Key, outcome string) []modelstore.Key {
	submit, end := k, k
	submit.Kind, submit.Time = job.Submit, k.Submit
	end.Kind = job.Start
	if outcome == modelstore.Cancelled {
		end.Kind = job.Cancel
	}
	return []modelstore.Key{submit, end}
}

// Join returns the keys of the journal, and the keys of the ledger that the journal does not have. They are ordered by
// attempt and then by kind. Join may change the slice journal.
func Join(journal, ledger []modelstore.Key) []modelstore.Key {
	n := len(journal)
	for _, l := range ledger {
		if !slices.ContainsFunc(journal[:n], func(k modelstore.Key) bool {
			return k.Attempt == l.Attempt && k.Kind == l.Kind
		}) {
			journal = append(journal, l)
		}
	}
	slices.SortFunc(journal, func(a, b modelstore.Key) int {
		if a.Attempt != b.Attempt {
			return a.Attempt - b.Attempt
		}
		return int(a.Kind) - int(b.Kind)
	})
	return journal
}
