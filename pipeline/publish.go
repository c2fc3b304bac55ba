package pipeline

import (
	"slices"

	"github.com/waitcast/waitcast/pipeline/accuracy"
	"github.com/waitcast/waitcast/pipeline/readmodel"
	"github.com/waitcast/waitcast/predictor/engine"
)

// next returns the next view of the cluster, or nil if readers must keep the previous one: nothing has changed, or
// there is no time now for a copy of the engine that includes the open instant. first is true as long as there is no
// view.
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

// view returns a view of the cluster, with the engine's view of the same instant.
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

// instantOver keeps a view of the instant that has ended, if readers wait for a newer view and there is still no time
// for a copy of the engine. No copy is needed for that view, because the engine itself has all of the instant.
// instantOver is called before the next event changes anything. It keeps at most one such view per published view,
// because each costs as much as a published one.
func (l *clusterWriter) instantOver() {
	if !l.owed || l.over != nil || l.atOnce || l.ledger.preview.due() {
		return
	}
	l.over = l.view(l.ledger.feeder.engine.View(clock(l.ledger.instant)))
}

// publishAtOnce publishes the newest instant of every cluster, even if the copies of the engines are expensive. It is
// called when no later event may come that would cause a publication.
func (p *Pipeline) publishAtOnce() {
	for _, l := range p.writers {
		l.atOnce = true
	}
	p.publish()
}

// owes reports whether the published view of any cluster is older than the cluster's state.
func (p *Pipeline) owes() bool {
	for _, l := range p.writers {
		if l.owed {
			return true
		}
	}
	return false
}

// present adds the forecast of the load to a view.
func (l *clusterWriter) present(v *readmodel.View) {
	if l.load == nil {
		return
	}
	v.Load = l.load.Published()
	if !slices.ContainsFunc(v.Sources, func(s readmodel.SourceStatus) bool { return !s.CaughtUp }) &&
		len(v.Sources) > 0 {
		l.load.CaughtUp(l.state)
	}
}
