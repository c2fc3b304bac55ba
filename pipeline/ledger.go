package pipeline

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// never stands for a quantile that is not reached, in the ledger and in saved state, where +Inf cannot be written.
const never = -1

// open is the forecast of a job that has not started yet.
type open struct {
	Job     cluster.Job `json:"job"`
	Live    bool        `json:"live,omitempty"`
	Made    bool        `json:"made,omitempty"` // the instant of the submission is over, the forecast is made
	Answers []answer    `json:"answers,omitempty"`
	// Closed is when the job started or left within the instant of its submission, Started says which.
	Closed  time.Time `json:"closed,omitzero"`
	Started bool      `json:"started,omitempty"`
}

// answer is the forecast for one size. A job whose size is not known at its submission (Torque) gets one for every
// power of two below the capacity, and one for the capacity.
type answer struct {
	Procs     int       `json:"procs"`
	Method    string    `json:"method,omitempty"`
	Quantiles []float64 `json:"quantiles,omitempty"`
	Reason    string    `json:"reason,omitempty"` // why there is none
}

// ledger predicts every job at its submission and scores it at its start.
//
// The forecast of a job is made when the instant of its submission is over, from the picture at that instant: ends are
// known, submissions up to its own, no start. So it depends on the events alone, not on how they were cut into batches.
type ledger struct {
	cluster    string
	forecaster *predictor.Forecaster
	levels     []float64
	instant    time.Time
	pending    []*open          // of the instant, in the order of submission, those that are closed already too
	open       map[string]*open // of the jobs that wait, by id
	scores     map[string]*Score
}

func newLedger(cluster string) *ledger {
	return &ledger{
		cluster: cluster, forecaster: predictor.NewForecaster(), levels: predictor.Levels(),
		open: map[string]*open{}, scores: map[string]*Score{},
	}
}

// before must be called ahead of every event that is applied; when the event's time is later than the open instant, the forecasts
// of that instant are made.
func (l *ledger) before(at time.Time, s *cluster.State, m predictor.Models, emit func(modelstore.Row)) {
	if !at.After(l.instant) {
		return
	}
	for _, o := range l.pending {
		o.Answers, o.Made = l.forecast(s, m, &o.Job), true
		if !o.Closed.IsZero() {
			l.close(o, emit)
		}
	}
	clear(l.pending)
	l.pending = l.pending[:0]
	l.instant = at
}

// note takes in one change of the picture.
func (l *ledger) note(c cluster.Change, emit func(modelstore.Row)) {
	switch c.Event.Kind {
	case job.Submit:
		if !c.Event.Derived {
			l.begin(c.After, c.Event.Live)
		}
	case job.Requeue:
		l.begin(c.After, c.Event.Live)
	case job.Update:
		if o := l.open[c.Event.ID]; o != nil {
			o.Job.Attributes = c.After.Attributes
		}
	case job.Start:
		if o := l.open[c.Event.ID]; o != nil {
			o.Job.Attributes = c.After.Attributes
			l.resolve(o, c.After.Start, true, emit)
		}
	case job.Cancel:
		if o := l.open[c.Event.ID]; o != nil && c.After == nil {
			l.resolve(o, c.Event.Time, false, emit)
		}
	}
}

func (l *ledger) begin(j *cluster.Job, live bool) {
	o := &open{Job: *j, Live: live}
	l.open[j.ID] = o
	l.pending = append(l.pending, o)
}

// resolve ends the wait of a job. Its row is written once its forecast is made.
func (l *ledger) resolve(o *open, at time.Time, started bool, emit func(modelstore.Row)) {
	delete(l.open, o.Job.ID)
	o.Closed, o.Started = at, started
	if o.Made {
		l.close(o, emit)
	}
}

// forecast makes the answers for one job of the open instant.
func (l *ledger) forecast(s *cluster.State, m predictor.Models, j *cluster.Job) []answer {
	scene := scenes(s, m, l.instant, j)
	if j.Procs > 0 {
		return []answer{l.answer(scene, j.Procs)}
	}
	var all []answer
	for procs := 1; procs < scene.Capacity; procs *= 2 {
		all = append(all, l.answer(scene, procs))
	}
	return append(all, l.answer(scene, scene.Capacity))
}

// scenes returns what may be known of the cluster at an instant by a job that was submitted then: a start at the very
// instant is not known yet.
func scenes(s *cluster.State, m predictor.Models, at time.Time, j *cluster.Job) *predictor.Scene {
	scene := &predictor.Scene{Cluster: s.Name(), Now: at, Capacity: s.Capacity(), Models: m}
	for _, r := range s.Running() {
		if r.Start.Before(at) {
			scene.Running = append(scene.Running, r)
		} else if r.ID != j.ID && first(r, j) {
			scene.Ahead = append(scene.Ahead, r)
		}
	}
	early := len(scene.Ahead)
	for _, q := range s.Queued() {
		if q.ID != j.ID && !q.Held && first(q, j) {
			scene.Ahead = append(scene.Ahead, q)
		}
	}
	if early > 0 {
		slices.SortStableFunc(scene.Ahead, byOrder)
	}
	return scene
}

func byOrder(a, b *cluster.Job) int {
	switch {
	case first(a, b):
		return -1
	case first(b, a):
		return 1
	}
	return 0
}

// first reports whether a comes before b in the order of submission.
func first(a, b *cluster.Job) bool {
	return a.Order.Before(b.Order) || a.Order.Equal(b.Order) && a.Seq < b.Seq
}

func (l *ledger) answer(scene *predictor.Scene, procs int) answer {
	out := answer{Procs: procs}
	f, err := l.forecaster.Forecast(scene, procs)
	if err != nil {
		out.Reason = "failed"
		var cannot *headqueue.CannotSay
		if errors.As(err, &cannot) {
			out.Reason = string(cannot.Reason)
		}
		return out
	}
	out.Method = f.Method
	out.Quantiles = make([]float64, len(f.Quantiles))
	for i, q := range f.Quantiles {
		if math.IsInf(q, 1) || math.IsNaN(q) {
			q = never
		}
		out.Quantiles[i] = q
	}
	return out
}

// pick returns the answer for a size: the only one there is, or of the two sizes around it the one of the larger (the
// honest side).
func pick(answers []answer, procs int) answer {
	i := sort.Search(len(answers), func(i int) bool { return answers[i].Procs >= procs })
	if len(answers) == 0 {
		return answer{Procs: procs, Reason: string(predictor.ReasonUnknownSize)}
	}
	return answers[min(i, len(answers)-1)]
}

// close writes the row of a job that started or left the queue.
func (l *ledger) close(o *open, emit func(modelstore.Row)) {
	a := pick(o.Answers, o.Job.Procs)
	row := modelstore.Row{
		Cluster: l.cluster, JobID: o.Job.ID, Attempt: o.Job.Attempt, Queue: o.Job.Queue,
		Procs: o.Job.Procs, TimeLimit: o.Job.TimeLimit, Submit: o.Job.Submit,
		Outcome: modelstore.Cancelled, WaitSeconds: math.Max(0, o.Closed.Sub(o.Job.Submit).Seconds()),
		Method: a.Method, Quantiles: a.Quantiles, Reason: a.Reason, Replayed: !o.Live,
	}
	if a.Quantiles != nil {
		row.Levels = l.levels
	}
	if o.Started {
		row.Outcome, row.Start = modelstore.Started, o.Closed
	}
	l.score(&row)
	emit(row)
}

func (l *ledger) score(row *modelstore.Row) {
	s := l.scores[row.Queue]
	if s == nil {
		s = newScore(len(l.levels))
		l.scores[row.Queue] = s
	}
	s.add(row)
}

// savedLedger holds the forecasts that are made as Open, the others as Pending.
type savedLedger struct {
	Instant time.Time         `json:"instant"`
	Pending []*open           `json:"pending"`
	Open    []*open           `json:"open"`
	Scores  map[string]*Score `json:"scores"`
}

// MarshalBinary saves open forecasts and scores.
func (l *ledger) MarshalBinary() ([]byte, error) {
	out := savedLedger{
		Instant: l.instant.UTC(), Scores: l.scores,
		Pending: append([]*open{}, l.pending...), Open: make([]*open, 0, len(l.open)),
	}
	for _, o := range l.open {
		if o.Made {
			out.Open = append(out.Open, o)
		}
	}
	slices.SortFunc(out.Open, func(a, b *open) int { return byOrder(&a.Job, &b.Job) })
	return json.Marshal(out)
}

// UnmarshalBinary restores what MarshalBinary saved.
func (l *ledger) UnmarshalBinary(data []byte) error {
	var in savedLedger
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	fresh := newLedger(l.cluster)
	fresh.instant, fresh.pending = in.Instant, in.Pending
	for _, o := range slices.Concat(in.Open, in.Pending) {
		if o.Closed.IsZero() {
			fresh.open[o.Job.ID] = o
		}
	}
	for queue, s := range in.Scores {
		fresh.scores[queue] = s
	}
	*l = *fresh
	return nil
}
