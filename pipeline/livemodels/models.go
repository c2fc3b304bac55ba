// Package livemodels keeps models of every queue up to date with the changes of a cluster's jobs: Downey's lifetimes,
// Song's chains, and the model of Lublin and Feitelson. It also keeps the newest jobs that left.
package livemodels

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/workload/hypergamma"
	"github.com/waitcast/waitcast/workload/markov"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// Config defines how the models of a queue are kept up to date.
type Config struct {
	// WindowJobs and WindowAge bound the sliding window of a lifetime model. The age is counted from the starts. 0
	// means no bound.
	WindowJobs int
	WindowAge  time.Duration
	// MinSamples is the minimum number of lifetimes for a queue's model to be used.
	MinSamples int
	// Forget is the share of weight that old data lose with every new job, from 0 to below 1. It applies to the Markov
	// chains, the model of Lublin and Feitelson, and the scores of the competing laws of lifetimes.
	Forget float64
	// HistoryJobs is the number of the newest jobs that left which are kept for resampling users. 0 keeps none.
	HistoryJobs int
	// Plain keeps only Downey's windows and the Markov chains of the queues, for a report at the end of the logs.
	Plain bool
}

// AllQueues is the name of the models over all queues together. They replace the models of a queue with too few
// lifetimes.
const AllQueues = ""

var classes = [...]string{job.Sequential, job.Parallel}

// Models are the workload models of one cluster. One writer updates them. Readers get a published copy.
type Models struct {
	cfg    Config
	queues map[string]*QueueModels
	now    time.Time
	late   []lateEnd // in the order of their ends
	// history has the jobs of all queues.
	history *history
	site    Site
	// chains and lublin are empty models. The models of a new queue are copies of them, so that only New can refuse a
	// configuration.
	chains  *markov.Model
	lublin  *hypergamma.Live
	refused int64 // changes from which a model could not learn, since the start of the process
}

// Site gives the models access to their cluster. The zero Site is in UTC and knows no pools and no jobs.
type Site struct {
	// Zone is the zone of the cluster: its daily cycle follows the clock there.
	Zone *time.Location
	// Pool returns the pool that a queue's jobs compete for; if it is nil, sizes are numbers of processors.
	Pool func(queue string) *cluster.Pool
	// Running returns the running jobs; if it is nil, none are known.
	Running func() []*cluster.Job
}

// QueueModels are the models of one queue.
type QueueModels struct {
	windows [len(classes)]*lifetimes
	lublin  *lublin
	chains  *markov.Model
	// published is the newest immutable copy of the chains, nil if they have changed since then.
	published *markov.Chains
}

// New returns empty models. A Forget outside [0, 1) is an error, which names its configuration key.
func New(cfg Config, site Site) (*Models, error) {
	chains, err := markov.New(cfg.Forget)
	if err != nil {
		return nil, fmt.Errorf("models.markov_forget: %w", err)
	}
	lublin, err := hypergamma.NewLive(cfg.Forget)
	if err != nil {
		return nil, fmt.Errorf("models.markov_forget: %w", err)
	}
	if site.Zone == nil {
		site.Zone = time.UTC
	}
	m := &Models{cfg: cfg, site: site, chains: chains, lublin: lublin}
	m.clear()
	return m, nil
}

// clear resets the models to empty ones.
func (m *Models) clear() {
	m.queues, m.history, m.now, m.late = map[string]*QueueModels{}, newHistory(m.cfg.HistoryJobs), time.Time{}, nil
	m.Queue(AllQueues)
}

// Queue returns the models of a queue, which it creates if there are none yet.
func (m *Models) Queue(name string) *QueueModels {
	q := m.queues[name]
	if q == nil {
		q = &QueueModels{chains: m.chains.Empty(), lublin: &lublin{live: m.lublin.Empty()}}
		for i := range q.windows {
			q.windows[i] = newLifetimes(m.cfg, name, classes[i])
		}
		m.queues[name] = q
	}
	return q
}

// ClassIndex returns the index of the class of a size.
func ClassIndex(procs int) int {
	if job.Class(procs) == job.Sequential {
		return 0
	}
	return 1
}

// InstantOver implements changes.Observer. The models do not depend on the order within an instant.
func (m *Models) InstantOver(time.Time, bool, *cluster.State) {}

// Observe implements changes.Observer. A change from which a model could not learn is counted.
func (m *Models) Observe(c *changes.Change, _ *cluster.State) {
	if err := m.Learn(*c); err != nil {
		m.refused++
	}
}

// Refused returns the number of changes from which the models could not learn, since the start of the process.
func (m *Models) Refused() int64 { return m.refused }

// Learn learns from one change. The error reports a value that a model refused. An attempt that was requeued gives no
// lifetime. A job that never ran, or whose end was lost, is removed from the sequence of the chains.
func (m *Models) Learn(c changes.Change) error {
	if c.Event.Time.After(m.now) {
		m.now = c.Event.Time
	}
	return errors.Join(m.expireLate(), m.change(&c))
}

func (m *Models) change(c *changes.Change) error {
	switch c.Kind {
	case changes.Submitted, changes.Split:
		return m.submitted(c.After)
	case changes.Updated, changes.Held, changes.Released, changes.Started:
		return errors.Join(m.moved(c), m.completed(c.After))
	// A used-up array has no lifetime, as its elements have records of their own; a lost end gives none either.
	case changes.UsedUp, changes.Lost:
		return m.without(c.Before)
	case changes.Cancelled:
		m.history.add(c.Before, c.Event.Time.Sub(c.Before.Order), neverRan)
		return m.without(c.Before)
	case changes.Ended:
		return m.finished(c)
	}
	return nil
}

// submitted learns from a submission.
func (m *Models) submitted(j *cluster.Job) error {
	q := m.Queue(j.FirstQueue)
	q.published = nil
	err := q.chains.Submitted(key(j))
	if m.cfg.Plain {
		return err
	}
	all := m.Queue(AllQueues)
	all.published = nil
	return errors.Join(err, all.chains.Submitted(key(j)),
		q.lublin.submitted(j.Submit, m.site.Zone), all.lublin.submitted(j.Submit, m.site.Zone))
}

// moved adds a job to the sequence of the queue to which it was submitted, if that queue becomes known late. The job
// comes after the jobs that were known before it.
func (m *Models) moved(c *changes.Change) error {
	if c.Before.FirstQueue == c.After.FirstQueue {
		return nil
	}
	switch err := m.Queue(c.Before.FirstQueue).without(c.Before); {
	case errors.Is(err, markov.ErrUnknown):
		return nil // the job has ended, and stays in the sequence of its first queue
	case err != nil:
		return err
	}
	q := m.Queue(c.After.FirstQueue)
	q.published = nil
	return q.chains.Submitted(key(c.After))
}

// without removes a job from the sequences.
func (m *Models) without(j *cluster.Job) error {
	err := m.Queue(j.FirstQueue).without(j)
	if m.cfg.Plain {
		return err
	}
	return errors.Join(err, m.Queue(AllQueues).without(j))
}

func (q *QueueModels) without(j *cluster.Job) error {
	q.published = nil
	return q.chains.NeverRan(key(j))
}

// ended learns from a lifetime.
func (m *Models) ended(j *cluster.Job, start time.Time, seconds float64) error {
	class := ClassIndex(j.Procs)
	var errs error
	for _, name := range [...]string{j.Queue, AllQueues} {
		q := m.Queue(name)
		errs = errors.Join(errs, q.windows[class].add(start, seconds))
		if !m.cfg.Plain {
			errs = errors.Join(errs, q.lublin.ended(max(1, j.Procs), seconds),
				q.windows[class].selection.observe(unixSeconds(start), seconds, j.TimeLimit.Seconds(),
					m.ages(name, class)))
		}
	}
	q := m.Queue(j.FirstQueue)
	q.published = nil
	errs = errors.Join(errs, q.chains.Ended(key(j), m.size(j), seconds))
	if m.cfg.Plain {
		return errs
	}
	m.history.add(j, start.Sub(j.Order), seconds)
	all := m.Queue(AllQueues)
	all.published = nil
	return errors.Join(errs, all.chains.Ended(key(j), max(1, j.Procs), seconds))
}

// LearnWhole learns the lifetime of a job that ran in the queue. It is for a log in order of submission with one record
// per job.
func (q *QueueModels) LearnWhole(procs int, start time.Time, seconds float64) error {
	if err := q.windows[ClassIndex(procs)].window.Add(start, seconds); err != nil {
		return err
	}
	return q.chains.Append(procs, seconds)
}

// Reached sets the instant of the models.
func (m *Models) Reached(at time.Time) { m.now = at }

// size returns a job's size in the binding dimension of its pool. After a change of that dimension the chains forget
// the old sizes gradually, like all old data.
func (m *Models) size(j *cluster.Job) int {
	size := j.Procs
	if m.site.Pool != nil {
		p := m.site.Pool(j.Queue)
		size = p.Size(&j.Attributes, p.Dimension(&j.Attributes))
	}
	return max(1, size)
}

// key identifies a submission in the sequence of the chains. A requeued job is the same submission.
func key(j *cluster.Job) string { return strconv.FormatUint(j.Seq, 36) }

// QueueView is the published state of one queue's models.
type QueueView struct {
	// Lifetimes has the classes in the order sequential, parallel.
	Lifetimes [len(classes)]LifetimeView
	// Lublin is the model of Lublin and Feitelson.
	Lublin *LublinView
	// Chains are Song's two Markov chains.
	Chains *markov.Chains
}

// LifetimeView has one class's law, Downey's fit with its sample, and the scores of the competing laws.
type LifetimeView struct {
	// Law is the law that forecasts use if Usable is true: the lifetime of the chosen law, and Downey's fit.
	Law    predictor.Law
	Usable bool
	// Err is the reason why there is no Downey fit.
	Err error
	// Selection holds the scores of the competing laws.
	Selection *SelectionView
	// Sample is the sample for KS distances.
	Sample *uniformlog.Sample
}

// View is an immutable copy of all models of a cluster.
type View struct {
	queues map[string]*QueueView
	// History has the jobs that left.
	History *HistoryView
	zone    *time.Location
}

// machine returns the number of processors that a queue's jobs compete for, 0 if unknown.
func (m *Models) machine(queue string) int {
	if m.site.Pool == nil || queue == AllQueues {
		return 0 // the size of the largest job is used then
	}
	return m.site.Pool(queue).Capacity(cluster.Procs)
}

// View returns an immutable copy of the models.
func (m *Models) View() *View {
	v := &View{queues: make(map[string]*QueueView, len(m.queues)), History: m.history.view(), zone: m.site.Zone}
	named := len(m.queues) > 2 // there are queues other than AllQueues and the default queue
	for name, q := range m.queues {
		if q.published == nil {
			q.published = q.chains.Chains()
		}
		qv, empty := &QueueView{Chains: q.published, Lublin: q.lublin.view(m.machine(name))}, true
		for i, l := range q.windows {
			l.refit(m.now)
			if l.sample == nil {
				l.sample = l.window.Snapshot()
			}
			qv.Lifetimes[i] = LifetimeView{
				Law: l.law, Usable: l.usable(m.cfg.MinSamples), Err: l.err, Selection: l.selection.view(),
				Sample: l.sample,
			}
			empty = empty && l.window.N() == 0
		}
		if name == cluster.DefaultQueue && empty && named {
			continue // the default queue has only jobs whose queue is not known yet
		}
		v.queues[name] = qv
	}
	return v
}

// Queues returns the names of the queues that have models, sorted.
func (v *View) Queues() []string {
	names := slices.Sorted(maps.Keys(v.queues))
	return slices.DeleteFunc(names, func(s string) bool { return s == AllQueues })
}

// Zone is the zone of the cluster's clock.
func (v *View) Zone() *time.Location { return v.zone }

// Of returns the models of a queue (empty: of all queues together), nil before its first job.
func (v *View) Of(queue string) *QueueView { return v.queues[queue] }

// Queue returns one queue's models, or nil.
func (v *View) Queue(name string) *QueueView {
	if name == AllQueues {
		return nil
	}
	return v.queues[name]
}

// Law implements predictor.Models. It returns the queue's own law of the job's class if that is usable, otherwise the
// law of all queues together.
func (v *View) Law(queue string, procs int) (predictor.Law, bool) {
	class := ClassIndex(procs)
	for _, name := range [...]string{queue, AllQueues} {
		q := v.queues[name]
		if q == nil {
			continue
		}
		if l := q.Lifetimes[class]; l.Usable {
			return l.Law, true
		}
	}
	return predictor.Law{}, false
}

// kind and version are the kind and version of the saved state.
const kind, version = "models", 5

// fields reads or writes the models, with queues in order of their names.
func (m *Models) fields(c *codec.Codec) {
	if c.Reading {
		m.clear()
	}
	c.Time(&m.now)
	c.JSON(&m.late)
	m.history.fields(c)
	names := slices.Sorted(maps.Keys(m.queues))
	codec.List(c, &names, func(name *string) {
		if c.Text(name); c.Bad {
			return
		}
		m.Queue(*name).code(c, m.now)
	})
}

// code reads or writes the models of a queue.
func (q *QueueModels) code(c *codec.Codec, now time.Time) {
	for _, l := range q.windows {
		if !c.Reading {
			l.expire(now)
		}
		l.window.Code(c)
		l.selection.code(c)
	}
	q.lublin.code(c)
	q.chains.Code(c)
}

// MarshalBinary saves the models.
func (m *Models) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, m.fields) }

// UnmarshalBinary restores models that MarshalBinary saved. The receiver must have the same configuration. An error
// is a *codec.Error and leaves the models unchanged.
func (m *Models) UnmarshalBinary(data []byte) error {
	return codec.Restore(m, kind, version, data, (*Models).fields)
}

// Classes are the lifetime classes in the order of QueueView.Lifetimes.
func Classes() []string { return slices.Clone(classes[:]) }
