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

// clusterWriter is the pipeline's state of one cluster: the picture, the models, the open forecasts.
type clusterWriter struct {
	state     *cluster.State
	names     *queuenames.Names
	models    *livemodels.Models
	ledger    *ledger               // nil if no forecasts are made, as in a one-shot run
	load      *loadforecast.Learner // nil if the load is not forecast
	observers changes.Observers     // ledger, models, load; also waitObserver in Run, gatherer in a rebuild
	number    int64                 // number of the current event
	out       *output               // output of the current event
	known     cluster.Known
	recall    cluster.Known // the value of known before the replay of a journal, which sets known to another lookup
	dirty     bool          // something changed since the last view
	// owed is set while the published view shows an earlier instant than the newest, because there was no time for a
	// copy of the engine.
	owed   bool
	atOnce bool // the next view must show the newest instant, at any cost
	// over is a view of an instant that has ended. It is published if there is still no time for a view of the newest
	// instant; nil for none.
	over     *readmodel.View
	seq      int64               // number of the newest change
	journal  bool                // changes go to the journal
	declared []string            // the configured queues
	took     prometheus.Observer // observes how long updates of the models take, in seconds
	log      *zap.Logger
	measured bool                 // one of the observers is a waitObserver
	stopped  *readmodel.Condition // why the cluster is stopped, nil for a cluster that works
	learnt   *past.Learnt         // the history that the state includes; nil for none
}

// output is what a cluster adds to the batch to be committed.
type output struct {
	entries []modelstore.Entry
	rows    []modelstore.Row
	bytes   int // approximate size of the entries
}

// newClusterWriter returns the writer of a cluster before its first event. shared is the configuration that all
// clusters have in common. An error names the configuration key whose value was refused.
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

// due reports whether a view is owed and there is time now to make it.
func (l *clusterWriter) due() bool { return l.owed && l.ledger.preview.due() }

// close ends the background work of the cluster: training, copies of the engine, and the load forecast.
func (l *clusterWriter) close() {
	if l.ledger != nil {
		l.ledger.feeder.engine.Close()
		l.ledger.preview.close()
	}
	if l.load != nil {
		l.load.Stop()
	}
}

// take folds one event, and returns what became of it. It updates picture, models and forecasts, and adds entries and
// rows to out. seq returns the number of the next journal entry.
func (l *clusterWriter) take(ev job.Event, source string, seq func() int64, out *output) cluster.Verdict {
	id, announced := ev.ID, ev.Queue
	ev.Queue = l.names.Place(announced)
	return l.state.Apply(ev, l.hooks(seq, out, ev.Live, source, func(c *job.Event) {
		// The journal keeps the original name, so that another limit of queues can be configured later.
		if c.ID == id && c.Queue == ev.Queue {
			c.Queue = announced
		}
	}))
}

// endHistory ends the history of the picture, see cluster.State.EndHistory.
func (l *clusterWriter) endHistory(seq func() int64, out *output) {
	l.state.EndHistory(l.hooks(seq, out, false, "", func(*job.Event) {}))
}

// hooks returns the callbacks of the fold for one event. rename restores the queue's name in the event of a change.
func (l *clusterWriter) hooks(seq func() int64, out *output, live bool, source string,
	rename func(*job.Event)) *cluster.Hooks {
	l.out = out
	return &cluster.Hooks{
		Known: l.known,
		Before: func(at time.Time) {
			l.number = seq()
			l.observers.Before(at, live, l.state)
		},
		Changed: func(c cluster.Change) {
			l.dirty, l.seq = true, l.number
			kept := c.Event
			rename(&kept)
			l.noteQueue(kept.Queue)
			change := changes.Of(c, l.state)
			change.Seq = l.number
			l.observers.Observe(&change, l.state)
			if l.journal {
				out.add(modelstore.Entry{Seq: l.number, Source: source, Event: kept})
			}
		},
	}
}

// ledgerObserver passes the changes to the ledger, and reports to it which instants end and begin. When an instant has
// ended, it also calls clusterWriter.instantOver.
type ledgerObserver struct{ writer *clusterWriter }

// InstantOver implements changes.Observer.
func (o ledgerObserver) InstantOver(at time.Time, _ bool, s *cluster.State) {
	o.writer.ledger.closeInstant(s)
	o.writer.instantOver()
	o.writer.ledger.openInstant(at, s)
}

// Observe implements changes.Observer.
func (o ledgerObserver) Observe(c *changes.Change, s *cluster.State) { o.writer.ledger.take(c, s) }

// addRow adds a ledger row to the output of the current event, which completed the row.
func (l *clusterWriter) addRow(row modelstore.Row) {
	row.Seq = l.number
	l.out.rows = append(l.out.rows, row)
}

// noteQueue registers the original queue name of an event, and warns once if the cluster has too many queues.
func (l *clusterWriter) noteQueue(name string) {
	if l.names.Note(name) {
		l.log.Warn("this cluster has more queues than models.max_queues: the jobs of all further ones share the queue "+
			queuenames.Other+"; raise the limit, or name under queues those that must have models of their own",
			zap.String("cluster", l.state.Name()), zap.Int("max_queues", l.names.Limit()), zap.String("first", name))
	}
}

// fitted brings the models up to date and returns a view of them.
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

// parts returns the parts of a snapshot of the cluster except historyPart, in the order in which they are restored. The
// engine comes before the ledger, because the views in the ledger refer to the engine.
func (l *clusterWriter) parts() []savedPart {
	prefix := l.state.Name() + "/"
	parts := []savedPart{{prefix + "state", l.state}, {prefix + "queues", l.names}, {prefix + "models", l.models}}
	if l.ledger != nil {
		parts = append(parts, savedPart{prefix + "engine", l.ledger.feeder}, savedPart{prefix + "ledger", l.ledger})
	}
	return parts
}

// save adds the encoders of the parts of a snapshot of the cluster.
func (l *clusterWriter) save(into map[string]modelstore.Encoder) {
	for _, part := range l.parts() {
		var encode modelstore.Encoder
		switch s := part.Savable.(type) {
		case *engineFeeder:
			encode = inPieces(s.engine.SaveTo)
		case *ledger:
			encode = s.encode
		default:
			encode = modelstore.Whole(part.MarshalBinary)
		}
		into[part.name] = guardEncoder(l.state.Name(), encode)
	}
	if l.learnt != nil {
		into[l.historyPart()] = modelstore.Whole(func() ([]byte, error) {
			return codec.Save(historyKind, historyVersion, 0, func(c *codec.Codec) { c.JSON(l.learnt) })
		})
	}
}

// inPieces returns an encoder of a part that is encoded piece by piece: first to count the bytes, and then to write
// them.
func inPieces(save func(put func([]byte) error) (int, error)) modelstore.Encoder {
	return func() (int, func(put func([]byte) error) error, error) {
		size, err := save(func([]byte) error { return nil })
		return size, func(put func([]byte) error) error {
			_, err := save(put)
			return err
		}, err
	}
}

// historyKind and historyVersion are the kind and version of historyPart.
const historyKind, historyVersion = "history", 1

// historyPart returns the name of the part of a snapshot that identifies the history included in the state. A state
// without a history has no such part.
func (l *clusterWriter) historyPart() string { return l.state.Name() + "/history" }

// restore restores the parts of a snapshot. It removes each part but historyPart from the map once the part is
// restored, to free its memory early. After an error some parts may be restored already.
func (l *clusterWriter) restore(from map[string][]byte) error {
	for _, part := range l.parts() {
		data, ok := from[part.name]
		if !ok {
			return fmt.Errorf("the snapshot has no part %s", part.name)
		}
		if err := part.UnmarshalBinary(data); err != nil {
			return fmt.Errorf("restoring %s: %w", part.name, err)
		}
		delete(from, part.name)
	}
	if l.ledger != nil {
		l.ledger.share(l.state)
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

// utc converts the times of an event to UTC without a monotonic clock, so that they can be compared.
func utc(ev job.Event) job.Event {
	for _, t := range [...]*time.Time{&ev.Time, &ev.Times.Submit, &ev.Times.Eligible, &ev.Times.Start, &ev.Times.End} {
		*t = t.Round(0).UTC()
	}
	return ev
}
