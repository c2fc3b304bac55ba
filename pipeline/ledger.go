package pipeline

import (
	"errors"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/predictor/headqueue"
)

// reasonArray is why the last task of an array has no forecast: the number of tasks was told after the forecast of the first.
const reasonArray = "unknown_tasks"

// never stands for a quantile that is not reached, in the ledger and in saved state, where +Inf cannot be written.
const never = -1

// open is the forecast of a job that has not started yet, or that started before enough was known of it.
type open struct {
	Job  cluster.Job `json:"job"`
	Live bool        `json:"live,omitempty"`
	// Sized is true where the size was told at the instant of the submission.
	Sized bool `json:"sized,omitempty"`
	// Made is true once the forecast is made: when the instant of the submission is over, or when the job's size and queue are told.
	Made    bool     `json:"made,omitempty"`
	Answers []answer `json:"answers,omitempty"`
	// Last is the forecast for the last task of an array; Answers are for the first.
	Last *answer `json:"last,omitempty"`
	// Parts is the number of tasks that were told apart from the array, Part says that this is such a task.
	Parts int  `json:"parts,omitempty"`
	Part  bool `json:"part,omitempty"`
	// Surface is what the forecast will be made from if it is not made yet, Place the number of those that came while it was current.
	Surface *surface `json:"-"`
	Place   int      `json:"place,omitempty"`
	// Closed is when the job started or left before its forecast was made, Started says which.
	Closed  time.Time `json:"closed,omitzero"`
	Started bool      `json:"started,omitempty"`
	// After is true where the forecast was made after the job had started or left, because too little of it was known before.
	After bool `json:"after,omitempty"`
}

// answer is the forecast for one size. A job whose size is not told in time gets one for every power of two below the capacity, and one for the
// capacity.
type answer struct {
	Procs     int       `json:"procs"` // in what binds
	Method    string    `json:"method,omitempty"`
	Quantiles []float64 `json:"quantiles,omitempty"`
	Reason    string    `json:"reason,omitempty"` // why there is none
}

// ledger predicts every job at its submission and scores it at its start.
//
// The forecast of a job is made from the picture at the instant of its submission: ends are known, submissions up to its own, no start. So it depends on
// the events alone, not on how they were cut into batches. It is made when that instant is over; for a job of which size or queue are not told by then, when they are.
type ledger struct {
	cluster    string
	forecaster *predictor.Forecaster
	levels     []float64
	instant    time.Time
	pending    []*open          // of the instant, in the order of submission, those that are closed already too
	late       []*open          // not made yet although their instant is over, in the order of submission
	open       map[string]*open // of the jobs that wait, by id
	surface    *surface         // the newest, nil if it is too old for the open instant
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
func (l *ledger) before(at time.Time, s *cluster.State, m *models, emit func(modelstore.Row)) {
	if !at.After(l.instant) {
		return
	}
	if l.surface != nil && l.instant.Sub(l.surface.At) > surfaceAge {
		l.surface = nil
	}
	for _, o := range l.pending {
		o.Sized = o.Job.Procs > 0
		known := o.known()
		if !known {
			o.Surface = l.current(s, m)
			l.late = append(l.late, o)
		}
		if l.surface != nil {
			o.Place = len(l.surface.Later)
			l.surface.Later = append(l.surface.Later, o)
		}
		if known {
			l.make(o, scenes(s, m, l.instant, &o.Job), emit)
		}
	}
	clear(l.pending)
	l.pending = l.pending[:0]
	l.instant = at
	l.expire(emit)
}

// make makes the forecast of a job from what could be known when it was submitted.
func (l *ledger) make(o *open, scene *predictor.Scene, emit func(modelstore.Row)) {
	o.Answers = []answer{l.answer(scene)}
	if o.Job.Tasks > 1 || o.Parts > 0 {
		behind(scene, max(1, o.Job.Tasks)+o.Parts-1)
		last := l.answer(scene)
		o.Last = &last
	}
	l.made(o, emit)
}

func (l *ledger) made(o *open, emit func(modelstore.Row)) {
	o.Made, o.Surface = true, nil
	if !o.Closed.IsZero() {
		l.close(o, emit)
	}
}

// told makes the forecast of a job of which enough is known now.
func (l *ledger) told(o *open, emit func(modelstore.Row)) {
	if o.Made || o.Surface == nil || !o.known() {
		return
	}
	o.After = !o.Closed.IsZero()
	l.late = slices.DeleteFunc(l.late, func(x *open) bool { return x == o })
	l.make(o, o.Surface.scene(l.cluster, o), emit)
}

// expire makes the forecasts of the jobs of which too little has been told for too long: one for each size.
func (l *ledger) expire(emit func(modelstore.Row)) {
	n := 0
	for ; n < len(l.late) && l.instant.Sub(l.late[n].Job.Submit) > lateGrace; n++ {
		o := l.late[n]
		o.After = !o.Closed.IsZero()
		scene := o.Surface.scene(l.cluster, o)
		size := scene.Capacity()
		for scene.Size = 1; scene.Size < size; scene.Size *= 2 {
			o.Answers = append(o.Answers, l.answer(scene))
		}
		scene.Size = size
		o.Answers = append(o.Answers, l.answer(scene))
		l.made(o, emit)
	}
	l.late = slices.Delete(l.late, 0, n)
}

// note takes in one change of the picture.
func (l *ledger) note(c cluster.Change, emit func(modelstore.Row)) {
	switch c.Event.Kind {
	case job.Submit:
		if !c.Event.Derived {
			l.begin(c.After, c.Event.Live)
		} else {
			l.split(c.After)
		}
	case job.Requeue:
		l.begin(c.After, c.Event.Live)
	case job.Update:
		l.update(c, emit)
	case job.Start:
		if o := l.open[c.Event.ID]; o != nil {
			l.learn(o, c.After)
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

// split opens the forecast of the first task that is told apart from an array: the one that was made for the array, or will be.
func (l *ledger) split(j *cluster.Job) {
	whole := l.open[cluster.WholeOf(j.ID)]
	if whole == nil || !strings.Contains(j.ID, "_") {
		return
	}
	whole.Parts++
	if whole.Parts > 1 {
		return
	}
	o := &open{
		Job: *j, Live: whole.Live, Sized: whole.Sized, Part: true, Made: whole.Made, Answers: whole.Answers, Surface: whole.Surface, Place: whole.Place,
	}
	o.Job.Order, o.Job.Submit, o.Job.Seq = whole.Job.Order, whole.Job.Submit, whole.Job.Seq
	l.open[j.ID] = o
	switch {
	case o.Made:
	case o.Surface == nil: // of this instant
		l.pending = append(l.pending, o)
	default:
		at := slices.Index(l.late, whole)
		l.late = slices.Insert(l.late, at+1, o)
	}
}

// learn takes over what is known of a job now.
func (l *ledger) learn(o *open, j *cluster.Job) {
	o.Job.Attributes, o.Job.Unqueued, o.Job.Unsized = j.Attributes, j.Unqueued, j.Unsized
}

// update takes in what became known of a job, also of one that has started or left.
func (l *ledger) update(c cluster.Change, emit func(modelstore.Row)) {
	o := l.open[c.Event.ID]
	if o == nil || o.Job.Attempt != c.After.Attempt {
		i := slices.IndexFunc(l.late, func(o *open) bool { return o.Job.ID == c.Event.ID && o.Job.Attempt == c.After.Attempt })
		if i < 0 {
			return
		}
		o = l.late[i]
	}
	l.learn(o, c.After)
	l.told(o, emit)
}

// resolve ends the wait of a job. Its row is written once its forecast is made.
func (l *ledger) resolve(o *open, at time.Time, started bool, emit func(modelstore.Row)) {
	delete(l.open, o.Job.ID)
	o.Closed, o.Started = at, started
	if o.Made {
		l.close(o, emit)
		return
	}
	l.told(o, emit)
}

func (l *ledger) answer(scene *predictor.Scene) answer {
	out := answer{Procs: scene.Size}
	f, err := l.forecaster.Forecast(scene)
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
	switch {
	case o.Last != nil && !o.Part:
		a = *o.Last
	case o.Parts > 0 && !o.Part:
		a = answer{Reason: reasonArray}
	}
	row := modelstore.Row{
		Cluster: l.cluster, JobID: o.Job.ID, Attempt: o.Job.Attempt, Queue: o.Job.Queue,
		Procs: o.Job.Procs, TimeLimit: o.Job.TimeLimit, Submit: o.Job.Submit,
		Outcome: modelstore.Cancelled, WaitSeconds: math.Max(0, o.Closed.Sub(o.Job.Submit).Seconds()),
		Method: a.Method, Quantiles: a.Quantiles, Reason: a.Reason, Replayed: !o.Live || o.After,
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
