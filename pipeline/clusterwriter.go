package pipeline

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/livemodels"
	"github.com/waitcast/waitcast/pipeline/loadforecast"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/queuenames"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// clusterWriter holds the state that the writer keeps of one cluster: the picture, the models, the open forecasts.
type clusterWriter struct {
	state     *cluster.State
	names     *queuenames.Names
	models    *livemodels.Models
	ledger    *ledger               // nil where forecasts are not wanted (one-shot)
	load      *loadforecast.Learner // nil where the load is not forecast
	observers changes.Observers     // all that follow the changes: ledger, models, load and, in Run, waits
	number    int64                 // of the event under way
	out       *output               // of the event under way
	known     cluster.Known
	recall    cluster.Known // what known is while a journal is replayed
	dirty     bool          // something changed since the last view
	owed      bool          // the last view is of an earlier instant: there was no time for a copy of the engine
	atOnce    bool          // the next view is of the newest instant, whatever that costs
	// of the newest closed instant while a view is owed, published in its place; nil: none
	over     *readmodel.View
	seq      int64               // of the newest change
	journal  bool                // changes are kept
	declared []string            // the configured queues
	took     prometheus.Observer // takes the seconds that it takes to bring the models up to date
	log      *zap.Logger
	measured bool         // waits are, by one of the observers
	learnt   *past.Learnt // which history the state knows; nil for none
}

// output is what a cluster adds to the batch to be committed.
type output struct {
	entries []modelstore.Entry
	rows    []modelstore.Row
	bytes   int // about what the entries take
}

// newClusterWriter returns the writer of a cluster of which no event is known. shared is the configuration of all
// clusters. An error names the configuration key whose value was refused.
func newClusterWriter(cfg ClusterConfig, shared *Config, known cluster.Known) (*clusterWriter, error) {
	l := &clusterWriter{
		state: cluster.New(cfg.Name, cfg.Procs), names: queuenames.New(cfg.namedQueues(), shared.MaxQueues),
		known: known, declared: cfg.Queues, log: zap.NewNop(), took: prometheus.ObserverFunc(func(float64) {}),
	}
	l.state.SetPools(cfg.Pools)
	site := livemodels.Site{Zone: cfg.Location, Pool: l.state.Pool, Running: l.state.Running}
	var err error
	if l.models, err = livemodels.New(shared.Models, site); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cfg.Name, err)
	}
	if shared.Forecasts {
		feeder, err := newEngineFeeder(&cfg, shared.Engine)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", cfg.Name, err)
		}
		l.ledger = newLedger(cfg.Name, feeder, l.addRow)
		l.observers = append(l.observers, ledgerObserver{l})
	}
	l.observers = append(l.observers, l.models)
	for _, q := range cfg.Queues {
		l.models.Queue(q)
	}
	return l, nil
}

// due reports whether there is time now for what the last view lacks.
func (l *clusterWriter) due() bool { return l.owed && l.ledger.preview.due() }

// close ends what runs in the background.
func (l *clusterWriter) close() {
	if l.ledger != nil {
		l.ledger.feeder.engine.Close()
		l.ledger.preview.close()
	}
	if l.load != nil {
		l.load.Stop()
	}
}

// take folds one event: picture, models and forecasts follow it, and what is to be kept goes to out. seq gives the
// next journal number.
func (l *clusterWriter) take(ev job.Event, source string, seq func() int64, out *output) cluster.Verdict {
	l.out = out
	id, announced := ev.ID, ev.Queue
	ev.Queue = l.names.Place(announced)
	return l.state.Apply(ev, &cluster.Hooks{
		Known: l.known,
		Before: func(at time.Time) {
			l.number = seq()
			l.observers.Before(at, ev.Live, l.state)
		},
		Changed: func(c cluster.Change) {
			l.dirty, l.seq = true, l.number
			kept := c.Event // the journal keeps the announced name, so that another limit can be chosen later
			if kept.ID == id && kept.Queue == ev.Queue {
				kept.Queue = announced
			}
			l.noteQueue(kept.Queue)
			change := changes.Of(c, l.state)
			change.Seq = l.number
			l.observers.Observe(&change, l.state)
			if l.journal {
				out.add(modelstore.Entry{Seq: l.number, Source: source, Event: kept})
			}
		},
	})
}

// ledgerObserver lets the ledger of a writer follow the changes. Between two instants the writer may keep a picture of
// the one that is over.
type ledgerObserver struct{ writer *clusterWriter }

// InstantOver implements changes.Observer.
func (o ledgerObserver) InstantOver(at time.Time, _ bool, s *cluster.State) {
	o.writer.ledger.closeInstant(s)
	o.writer.instantOver()
	o.writer.ledger.openInstant(at, s)
}

// Observe implements changes.Observer.
func (o ledgerObserver) Observe(c *changes.Change, s *cluster.State) { o.writer.ledger.take(c, s) }

// addRow adds a row of the ledger to the output. The event that closed it is under way.
func (l *clusterWriter) addRow(row modelstore.Row) {
	row.Seq = l.number
	l.out.rows = append(l.out.rows, row)
}

// noteQueue takes in the queue of an event that goes to the journal.
func (l *clusterWriter) noteQueue(name string) {
	if l.names.Note(name) {
		l.log.Warn("this cluster has more queues than models.max_queues: the jobs of all further ones share the queue "+
			queuenames.Other+"; raise the limit, or name under queues those that must have models of their own",
			zap.String("cluster", l.state.Name()), zap.Int("max_queues", l.names.Limit()), zap.String("first", name))
	}
}

// fitted brings the models up to date and returns them as they are.
func (l *clusterWriter) fitted() *livemodels.View {
	begun := time.Now()
	defer func() { l.took.Observe(time.Since(begun).Seconds()) }()
	return l.models.View()
}

// savedPart is a part of a snapshot of the cluster.
type savedPart struct {
	name string
	codec.Savable
}

// parts returns the parts of a snapshot of the cluster, in the order in which they are restored: the views that the
// ledger keeps need the engine.
func (l *clusterWriter) parts() []savedPart {
	prefix := l.state.Name() + "/"
	parts := []savedPart{{prefix + "state", l.state}, {prefix + "queues", l.names}, {prefix + "models", l.models}}
	if l.ledger != nil {
		parts = append(parts, savedPart{prefix + "engine", l.ledger.feeder}, savedPart{prefix + "ledger", l.ledger})
	}
	return parts
}

func (l *clusterWriter) save(into map[string][]byte) error {
	for _, part := range l.parts() {
		data, err := part.MarshalBinary()
		if err != nil {
			return fmt.Errorf("saving %s: %w", part.name, err)
		}
		into[part.name] = data
	}
	if l.learnt != nil {
		data, err := codec.Save(historyKind, historyVersion, 0, func(c *codec.Codec) { c.JSON(l.learnt) })
		if err != nil {
			return fmt.Errorf("saving %s: %w", l.historyPart(), err)
		}
		into[l.historyPart()] = data
	}
	return nil
}

// historyKind and historyVersion are those of that part.
const historyKind, historyVersion = "history", 1

// historyPart is the part of a snapshot that says which history the state knows. A state that knows none lacks it.
func (l *clusterWriter) historyPart() string { return l.state.Name() + "/history" }

func (l *clusterWriter) restore(from map[string][]byte) error {
	for _, part := range l.parts() {
		data, ok := from[part.name]
		if !ok {
			return fmt.Errorf("the snapshot has no part %s", part.name)
		}
		if err := part.UnmarshalBinary(data); err != nil {
			return fmt.Errorf("restoring %s: %w", part.name, err)
		}
	}
	l.learnt = nil
	if data := from[l.historyPart()]; data != nil {
		l.learnt = &past.Learnt{}
		if err := codec.Load(historyKind, historyVersion, data, func(c *codec.Codec) { c.JSON(l.learnt) }); err != nil {
			return fmt.Errorf("restoring %s: %w", l.historyPart(), err)
		}
	}
	return nil
}

// utc makes the instants of an event comparable: UTC, no monotonic clock.
func utc(ev job.Event) job.Event {
	for _, t := range [...]*time.Time{&ev.Time, &ev.Times.Submit, &ev.Times.Eligible, &ev.Times.Start, &ev.Times.End} {
		*t = t.Round(0).UTC()
	}
	return ev
}
