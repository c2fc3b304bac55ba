package pipeline

import (
	"slices"

	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// next returns the next view of the cluster. It returns nil if readers must keep the previous view, because nothing has
// changed. If there is no time now for the copy of the engine that the newest instant needs, it returns the view of an
// instant that has ended (see instantOver), nil if there is none. first is true if there is no previous view.
func (l *clusterWriter) next(first bool) *readmodel.View {
	if !first && !l.dirty && !l.owed {
		return nil
	}
	var e *engine.View
	if l.ledger != nil {
		if e = l.ledger.engineView(first || l.atOnce); e == nil {
			over := l.over
			l.owed, l.over = true, nil
			return over
		}
	}
	l.dirty, l.owed, l.atOnce, l.over = false, false, false, nil
	return l.view(e)
}

// view returns a view of the cluster. e is the engine's view of the same instant.
func (l *clusterWriter) view(e *engine.View) *readmodel.View {
	v := readmodel.New(readmodel.View{
		View: l.state.View(), Models: l.fitted(), Scores: map[accuracy.Key]*accuracy.Score{},
		Declared: l.declared, Refused: l.models.Refused(), Seq: l.seq,
		Names: l.names.View(),
	})
	if l.ledger != nil {
		l.ledger.publish(v, e)
	}
	return v
}

// instantOver makes a view of the instant that has just ended, if a view is owed and there is still no time for a copy
// of the engine. The view needs no copy, because the engine itself has the whole instant. instantOver is called before
// the next event changes anything. It makes at most one view between two publications, because each costs as much as a
// published one.
func (l *clusterWriter) instantOver() {
	if !l.owed || l.over != nil || l.atOnce || l.ledger.preview.due() {
		return
	}
	l.over = l.view(l.ledger.feeder.engine.View(clock(l.ledger.instant)))
}

// publishAtOnce publishes the newest instant of every cluster, even if the copies of the engines are expensive. It is
// called when perhaps no later event will cause a publication.
func (p *Pipeline) publishAtOnce() {
	for _, l := range p.writers {
		l.atOnce = true
	}
	p.publish()
}

// owes reports whether there is a cluster whose published view is older than its state.
func (p *Pipeline) owes() bool {
	for _, l := range p.writers {
		if l.owed {
			return true
		}
	}
	return false
}

// present adds the newest load forecast to a view. If the ends of all sources of the cluster were reached, it also lets
// the load forecast take a sample of the state.
func (l *clusterWriter) present(v *readmodel.View, sources []readmodel.SourceStatus) {
	if l.load == nil {
		return
	}
	v.Load = l.load.Published()
	if !slices.ContainsFunc(sources, func(s readmodel.SourceStatus) bool { return !s.CaughtUp }) && len(sources) > 0 {
		l.load.CaughtUp(l.state)
	}
}
