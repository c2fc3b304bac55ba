package pipeline

import (
	"fmt"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// lane is everything the one writer keeps of one cluster: the picture, the models, the open forecasts.
type lane struct {
	state   *cluster.State
	models  *models
	ledger  *ledger // nil where forecasts are not wanted (one-shot)
	load    *load   // nil where that of the load is not wanted
	known   cluster.Known
	recall  cluster.Known        // what known is while a journal is replayed
	refused int64                // changes from which the models could not learn, since the start of the process
	dirty   bool                 // something changed since the last view
	owed    bool                 // the last view lacks the open instant, because there was no time for it
	journal bool                 // changes are kept
	watch   func(cluster.Change) // sees what happens while the process runs; nil while a journal is replayed
}

// output is what a lane adds to the batch to be committed.
type output struct {
	entries []modelstore.Entry
	rows    []modelstore.Row
}

func newLane(cfg ClusterConfig, models ModelConfig, known cluster.Known, forecasts bool) *lane {
	l := &lane{state: cluster.New(cfg.Name, cfg.Procs), models: newModels(models), known: known}
	l.state.SetPools(cfg.Pools)
	l.models.pool, l.models.running = l.state.Pool, l.state.Running
	if cfg.Location != nil {
		l.models.zone = cfg.Location
	}
	if forecasts {
		l.ledger = newLedger(cfg.Name, newFollower(cfg.Procs, cfg.played(models.Engine)))
		l.ledger.follower.byHand = policies(cfg.Pools)
	}
	for _, q := range cfg.Queues {
		l.models.queue(q)
	}
	return l
}

// due reports whether there is time now for what the last view lacks.
func (l *lane) due() bool { return l.owed && l.ledger.preview.due() }

// close ends what runs in the background.
func (l *lane) close() {
	if l.ledger != nil {
		l.ledger.follower.engine.Close()
		l.ledger.preview.close()
	}
	if l.load != nil {
		l.load.learner.stop()
	}
}

// take folds one event: picture, models and forecasts follow it, and what is to be kept goes to out. seq gives the
// next journal number.
func (l *lane) take(ev job.Event, source string, seq func() int64, out *output) cluster.Verdict {
	var number int64
	row := func(row modelstore.Row) {
		row.Seq = number
		out.rows = append(out.rows, row)
	}
	return l.state.Apply(ev, &cluster.Hooks{
		Known: l.known,
		Before: func(at time.Time) {
			number = seq()
			if l.ledger != nil {
				l.ledger.before(at, l.state, row)
			}
			if l.load != nil {
				l.load.before(at, ev.Live, l.state)
			}
		},
		Changed: func(c cluster.Change) {
			l.dirty = true
			if l.watch != nil {
				l.watch(c)
			}
			if l.ledger != nil {
				l.ledger.note(c, l.state, row)
			}
			if l.load != nil {
				l.load.note(c, l.state)
			}
			if err := l.models.learn(c); err != nil {
				l.refused++
			}
			if l.journal {
				out.entries = append(out.entries, modelstore.Entry{Seq: number, Source: source, Event: c.Event})
			}
		},
	})
}

// parts names what a snapshot of the lane holds.
func (l *lane) parts() map[string]binaryPart {
	prefix := l.state.Name() + "/"
	parts := map[string]binaryPart{prefix + "state": l.state, prefix + "models": l.models}
	if l.ledger != nil {
		parts[prefix+"ledger"], parts[prefix+"engine"] = l.ledger, l.ledger.follower
	}
	return parts
}

func (l *lane) save(into map[string][]byte) error {
	for name, part := range l.parts() {
		data, err := part.MarshalBinary()
		if err != nil {
			return fmt.Errorf("saving %s: %w", name, err)
		}
		into[name] = data
	}
	return nil
}

func (l *lane) restore(from map[string][]byte) error {
	for name, part := range l.parts() {
		data, ok := from[name]
		if !ok {
			return fmt.Errorf("the snapshot has no part %s", name)
		}
		if err := part.UnmarshalBinary(data); err != nil {
			return fmt.Errorf("restoring %s: %w", name, err)
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
