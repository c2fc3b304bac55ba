// Package livemodels keeps workload models of every queue up to date with the changes of a cluster's jobs: laws of
// lifetimes (Downey's and competing ones), Song's Markov chains, and the model of Lublin and Feitelson. It also keeps
// the newest jobs that left.
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
	// WindowJobs and WindowAge bound the sliding window of lifetimes to which Downey's law is fitted. A lifetime's age
	// is counted from the start of the job. 0 means no bound.
	WindowJobs int
	WindowAge  time.Duration
	// MinSamples is the minimum number of lifetimes with which forecasts use a queue's own law.
	MinSamples int
	// Forget is the share of their weight that old data lose with every new job, from 0 to below 1. It applies to the
	// Markov chains, to the model of Lublin and Feitelson, and to the scores of the competing laws of lifetimes.
	Forget float64
	// HistoryJobs is the maximum number of jobs that are kept after they left, for resampling users. The newest are
	// kept; 0 keeps none.
	HistoryJobs int
	// Plain is true if only Downey's windows and the Markov chains of the queues are kept, for a report at the end of
	// the logs.
	Plain bool
}

// AllQueues is the name of the models of all queues together. Their laws replace those of a queue with too few
// lifetimes.
const AllQueues = ""

var classes = [...]string{job.Sequential, job.Parallel}

// Models are the workload models of one cluster. One goroutine updates them; readers get a View.
type Models struct {
	cfg    Config
	queues map[string]*QueueModels
	now    time.Time
	late   []lateEnd // in the order in which their ends were read
	// history has the jobs of all queues.
	history *history
	site    Site
	// chains and lublin are empty models that New made from the configuration. The models of a new queue are copies of
	// them, so that only New can fail because of the configuration.
	chains  *markov.Model
	lublin  *hypergamma.Live
	refused int64 // changes from which a model could not learn, since the start of the process
}

// Site gives the models access to their cluster. The zero Site is in UTC and has no pools and no jobs.
type Site struct {
	// Zone is the time zone of the cluster, on which the daily cycle of arrivals depends.
	Zone *time.Location
	// Pool returns the pool that a queue's jobs compete for; if it is nil, sizes are numbers of processors.
	Pool func(queue string) *cluster.Pool
	// Running returns the running jobs; if it is nil, no running jobs are known.
	Running func() []*cluster.Job
}

// QueueModels are the models of one queue.
type QueueModels struct {
	windows [len(classes)]*lifetimes
	lublin  *lublin
	chains  *markov.Model
	// published is the newest immutable copy of the chains, nil if the chains have changed since.
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

// clear replaces all models by empty ones.
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

// ClassIndex returns the index of the class of a size: 0 for sequential jobs, 1 for parallel ones.
func ClassIndex(procs int) int {
	if job.Class(procs) == job.Sequential {
		return 0
	}
	return 1
}

// InstantOver implements changes.Observer. It does nothing, because the models do not depend on the order within an
// instant.
func (m *Models) InstantOver(time.Time, bool, *cluster.State) {}

// Observe implements changes.Observer. It learns from a change, and counts the changes that a model refused.
func (m *Models) Observe(c *changes.Change, _ *cluster.State) {
	if err := m.Learn(*c); err != nil {
		m.refused++
	}
}

// Refused returns the number of changes from which the models could not learn, since the start of the process.
func (m *Models) Refused() int64 { return m.refused }

// Learn learns from one change. The error reports a value that a model refused. An attempt that was requeued gives no
// lifetime. A job that never ran, or whose end was lost, is removed from the sequence of jobs that the chains learn.
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
	// A used-up array has no lifetime, because its elements have records of their own; a lost end and an unseen start
	// give no lifetime either.
	case changes.UsedUp, changes.Lost, changes.Unseen:
		return m.without(c.Before)
	case changes.Cancelled:
		m.history.add(c.Before, c.Event.Time.Sub(c.Before.Order), neverRan)
		return m.without(c.Before)
	case changes.Ended:
		return m.finished(c)
	}
	return nil
}

// submitted learns the submission of a job.
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

// moved moves a job to the sequence of the queue to which it was submitted, if that queue has only now become known. In
// the sequence the job comes after the jobs whose queue was known earlier.
func (m *Models) moved(c *changes.Change) error {
	if c.Before.FirstQueue == c.After.FirstQueue {
		return nil
	}
	switch err := m.Queue(c.Before.FirstQueue).without(c.Before); {
	case errors.Is(err, markov.ErrUnknown):
		return nil // the job has ended, and stays in the sequence in which it was
	case err != nil:
		return err
	}
	q := m.Queue(c.After.FirstQueue)
	q.published = nil
	return q.chains.Submitted(key(c.After))
}

// without removes a job from the sequences of jobs that the chains learn.
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

// ended learns the size and the lifetime (in seconds) of a job that ran, and adds the job to the history.
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

// LearnWhole learns a job that ran in the queue: its size and its lifetime in seconds. The jobs must come in the order
// of submission, as in a log with one record per job.
func (q *QueueModels) LearnWhole(procs int, start time.Time, seconds float64) error {
	if err := q.windows[ClassIndex(procs)].window.Add(start, seconds); err != nil {
		return err
	}
	return q.chains.Append(procs, seconds)
}

// Reached sets the instant up to which the models have learnt. It is for use with LearnWhole.
func (m *Models) Reached(at time.Time) { m.now = at }

// size returns a job's size in the binding dimension of its pool, at least 1. After a change of that dimension the
// chains forget the old sizes gradually, like all old data.
func (m *Models) size(j *cluster.Job) int {
	size := j.Procs
	if m.site.Pool != nil {
		p := m.site.Pool(j.Queue)
		size = p.Size(&j.Attributes, p.Dimension(&j.Attributes))
	}
	return max(1, size)
}

// key returns the name of a job in the sequences of jobs that the chains learn. A requeued job keeps its name.
func key(j *cluster.Job) string { return strconv.FormatUint(j.Seq, 36) }

// QueueView is the published state of one queue's models.
type QueueView struct {
	// Lifetimes has the laws of the two classes of jobs, in the order of Classes: sequential, parallel.
	Lifetimes [len(classes)]LifetimeView
	// Lublin is the model of Lublin and Feitelson for this queue.
	Lublin *LublinView
	// Chains are Song's two Markov chains, of sizes and of runtimes.
	Chains *markov.Chains
}

// LifetimeView has the law of lifetimes of one class of jobs, Downey's fit with its sample, and the scores of the
// competing laws.
type LifetimeView struct {
	// Law has the chosen law of lifetimes and Downey's fit. Forecasts use it if Usable is true.
	Law    predictor.Law
	Usable bool
	// Err is the reason why Downey's law could not be fitted, nil if it is fitted.
	Err error
	// Selection has the scores of the competing laws.
	Selection *SelectionView
	// Sample has the lifetimes of the window, for KS distances.
	Sample *uniformlog.Sample
}

// View is an immutable copy of all models of a cluster.
type View struct {
	queues map[string]*QueueView
	// History has the jobs that left.
	History *HistoryView
	zone    *time.Location
}

// machine returns the number of processors for which a queue's jobs compete, 0 if unknown. It is also 0 for AllQueues.
func (m *Models) machine(queue string) int {
	if m.site.Pool == nil || queue == AllQueues {
		return 0 // then the size of the largest job is used
	}
	return m.site.Pool(queue).Capacity(cluster.Procs)
}

// View brings the fits up to date and returns an immutable copy of the models. The copy lacks the default queue if
// other queues have models and no job of the default queue has ended.
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
			continue // the only jobs in the default queue are those of unknown queue
		}
		v.queues[name] = qv
	}
	return v
}

// Queues returns the names of the queues that have models, sorted, without AllQueues.
func (v *View) Queues() []string {
	names := slices.Sorted(maps.Keys(v.queues))
	return slices.DeleteFunc(names, func(s string) bool { return s == AllQueues })
}

// Zone returns the time zone of the cluster.
func (v *View) Zone() *time.Location { return v.zone }

// Of returns the models of a queue, or for AllQueues those of all queues together. It returns nil if the queue has
// none.
func (v *View) Of(queue string) *QueueView { return v.queues[queue] }

// Queue returns the models of a queue, nil if it has none. It returns nil for AllQueues.
func (v *View) Queue(name string) *QueueView {
	if name == AllQueues {
		return nil
	}
	return v.queues[name]
}

// Law implements predictor.Models. For the class of a job with procs processors it returns the law of the queue if that
// is usable, otherwise the law of all queues together. It returns false if neither is usable.
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

// kind and version are the kind and version of saved Models.
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

// code reads or writes the models of a queue. Before it writes them, it removes the lifetimes that are too old at the
// instant now.
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

// MarshalBinary returns the saved form of the models.
func (m *Models) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, m.fields) }

// UnmarshalBinary restores models that MarshalBinary saved. The receiver must have the same configuration. An error
// is a *codec.Error and leaves the models unchanged.
func (m *Models) UnmarshalBinary(data []byte) error {
	return codec.Restore(m, kind, version, data, (*Models).fields)
}

// Classes returns the names of the classes of jobs, in the order of QueueView.Lifetimes.
func Classes() []string { return slices.Clone(classes[:]) }
