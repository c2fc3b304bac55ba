package accuracy

import (
	"fmt"

	"github.com/waitcast/waitcast/job/waittime"
	"github.com/waitcast/waitcast/modelstore"
)

// Record has the scores of one cluster. They are updated when a row of the cluster is written. A Record is not safe for
// concurrent use. Its JSON is stored.
type Record struct {
	// Scores has the scores by queue and size class.
	Scores map[Key]*Score `json:"scores"`
	// Recent has the figures of the newest scored forecasts by queue. State that older versions saved lacks them; they
	// are empty then.
	Recent map[string]*Window `json:"recent,omitempty"`
	// Decisions counts the outcomes of quantiles. State that older versions saved lacks it too.
	Decisions *Decisions `json:"decisions,omitempty"`
}

// NewRecord returns an empty record.
func NewRecord() Record {
	return Record{Scores: map[Key]*Score{}, Recent: map[string]*Window{}, Decisions: NewDecisions()}
}

// Add adds a row to Scores and, if its job started and had a forecast, to Recent.
func (r *Record) Add(row *modelstore.Row) {
	key := Key{Queue: row.Queue, Size: waittime.SizeClass(row.Procs)}
	s := r.Scores[key]
	if s == nil {
		s = NewScore(len(waittime.Levels()))
		r.Scores[key] = s
	}
	s.Add(row)
	if row.Outcome != modelstore.Started || row.Quantiles == nil {
		return
	}
	w := r.Recent[row.Queue]
	if w == nil {
		w = &Window{}
		r.Recent[row.Queue] = w
	}
	w.add(row.Levels, row.Quantiles, row.WaitSeconds)
}

// Follow begins to follow a forecast in Decisions, unless no forecast was possible. It sets f.Followed.
func (r *Record) Follow(f *Forecast) {
	if w, ok := f.asMade(); ok {
		f.Followed = r.Decisions.Follow(&w)
	}
}

// Close ends the wait of the forecast f in Decisions, and adds the scores of its row. The job has started or left.
func (r *Record) Close(f *Forecast, row *modelstore.Row) {
	r.Decisions.Update(f.Followed, row.Queue, row.Procs)
	r.Decisions.Close(f.Followed, row.WaitSeconds, f.Started, row.Quantiles)
	r.Add(row)
}

// Snapshot returns copies that later rows do not change: the scores by queue and size class, and the figures of the
// newest scored forecasts by queue.
func (r *Record) Snapshot() (scores map[Key]*Score, newest map[string]*Figures) {
	scores = make(map[Key]*Score, len(r.Scores))
	for key, s := range r.Scores {
		scores[key] = s.Clone()
	}
	newest = make(map[string]*Figures, len(r.Recent))
	for queue, w := range r.Recent {
		newest[queue] = w.sum(len(waittime.Levels()))
	}
	return scores, newest
}

// Restored returns a saved record in a usable form, or an error if a part of it is damaged.
func (r *Record) Restored() (Record, error) {
	levels := len(waittime.Levels())
	out := NewRecord()
	for key, s := range r.Scores {
		if s == nil || !s.sound(levels) {
			return Record{}, fmt.Errorf("the score of queue %q, size %s is not one", key.Queue, key.Size)
		}
		out.Scores[key] = s
	}
	for queue, w := range r.Recent {
		if w == nil || !w.sound(levels) {
			return Record{}, fmt.Errorf("the newest forecasts of queue %q are none", queue)
		}
		out.Recent[queue] = w
	}
	var err error
	if out.Decisions, err = r.Decisions.Restored(); err != nil {
		return Record{}, err
	}
	return out, nil
}
