package changes

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
)

// Records puts the records of recorded logs in the order in which they take effect at their instant: the order of a
// Sequencer. Of a job whose submission or start is at the instant, all records keep their order. So no end comes before
// its own start, and no cancellation before its own submission, also if the log has whole seconds. An array and its
// elements count as one job if the array itself has a record at the instant.
//
// T is the type that represents a record.
type Records[T any] struct {
	event func(*T) *job.Event
	order *Sequencer[string, T]
	parts map[string]bool // the arrays with an element that has a pending record
	at    time.Time
}

// NewRecords returns Records without a record. `event` returns the event of a record.
func NewRecords[T any](event func(*T) *job.Event) *Records[T] {
	return &Records[T]{event: event, parts: map[string]bool{}, order: NewSequencer(func(r T) (string, Kind) {
		ev := event(&r)
		switch ev.Kind {
		case job.Submit:
			return ev.ID, Submitted
		case job.Start:
			return ev.ID, Started
		}
		return ev.ID, Other
	})}
}

// Add adds a record, and calls use with each record whose turn has come. Records must be added in the order of their
// times, and those of one instant in the order of the log. Add returns the first error of use.
func (r *Records[T]) Add(record T, use func(*T) error) error {
	ev := r.event(&record)
	if !ev.Time.Equal(r.at) {
		if err := r.EndInstant(use); err != nil {
			return err
		}
		r.at = ev.Time
	}
	whole := cluster.WholeOf(ev.ID)
	if beginsAt(ev) || r.parts[ev.ID] || whole != "" && r.order.IsOpen(whole) {
		r.order.Open(ev.ID)
	}
	if r.order.Add(record) {
		return use(&record)
	}
	if whole != "" {
		r.parts[whole] = true
	}
	return nil
}

// EndInstant calls use with all pending records. It is called after the last record. It returns the first error of use.
func (r *Records[T]) EndInstant(use func(*T) error) (err error) {
	r.order.EndInstant(func(record T) {
		if err == nil {
			err = use(&record)
		}
	})
	if len(r.parts) > fewOpen {
		r.parts = map[string]bool{}
	}
	clear(r.parts)
	return err
}

// beginsAt reports whether the record itself shows that its job was submitted or started at the instant of the record.
func beginsAt(ev *job.Event) bool {
	at := func(t time.Time) bool { return !t.IsZero() && !t.Before(ev.Time) }
	return at(ev.Times.Submit) || at(ev.Times.Start)
}
