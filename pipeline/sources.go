package pipeline

import (
	"context"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// AddSource adds a source. It must be called before Run, and so before the first delivery of the source.
func (p *Pipeline) AddSource(s source.Config) {
	p.addSource(s)
	p.publish()
}

func (p *Pipeline) addSource(s source.Config) {
	in := &sourceState{cluster: s.Options.Cluster, status: readmodel.SourceStatus{Name: s.Name,
		Since: p.now(), InTurn: s.Format.InTurn, HasStarts: s.Format.Lists || s.Format.AtEnd,
		Private: s.Format.Private}}
	in.clock = p.newClock(s)
	in.bad, in.badSaved = newOpenBad(p.saved[badKey(s.Name)]), len(p.saved[badKey(s.Name)]) > 0
	for v := range in.events {
		in.events[v] = p.metrics.Events.WithLabelValues(in.cluster, s.Name, cluster.Verdict(v).String())
	}
	if s.Format.Order == collector.BySubmit {
		in.hold = &holdback{}
	}
	p.sources[s.Name] = in
}

// OpenSources opens the readers of new sources at the committed checkpoints, which it gets by the names of sources.
// Then it stops the readers of the pipeline's present sources, and returns the new sources. After an error the old
// readers must still be running.
type OpenSources func(checkpoints map[string][]byte) ([]source.Config, error)

// sourceSwap is a call of ReplaceSources, passed to the goroutine of Run.
type sourceSwap struct {
	ctx  context.Context // context of the call
	open OpenSources
	done chan error // buffered for one error
}

// ReplaceSources replaces all sources while Run is running. The state stays in memory. The writer calls open between
// two transactions, so that the checkpoints cover all processed deliveries. Deliveries of the old readers that still
// wait are dropped. The new readers read their lines again, and duplicate records count once, as after a restart. The
// new readers must not deliver before ReplaceSources returns.
//
// ReplaceSources returns the error of open, the error of the store, or the cause of ctx if the writer is busy until
// ctx ends. Nothing has changed in these cases.
func (p *Pipeline) ReplaceSources(ctx context.Context, open OpenSources) error {
	s := &sourceSwap{ctx: ctx, open: open, done: make(chan error, 1)}
	select {
	case p.swaps <- s:
		return <-s.done
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// swapSources executes a call of ReplaceSources.
func (p *Pipeline) swapSources(s *sourceSwap, deliveries <-chan *source.Delivery) {
	next, err := p.openSources(s)
	if err != nil {
		s.done <- err
		return
	}
	for _, ok := poll(deliveries); ok; _, ok = poll(deliveries) { //nolint:revive // they are dropped
	}
	kept := map[string]bool{}
	for i := range next {
		kept[next[i].Name] = true
	}
	for name, in := range p.sources {
		delete(p.sources, name)
		if !kept[name] {
			p.metrics.forget(in.cluster, name)
		}
	}
	for i := range next {
		p.addSource(next[i])
	}
	p.publish()
	s.done <- nil
}

// openSources calls s.open with the committed checkpoints, and returns the new sources.
func (p *Pipeline) openSources(s *sourceSwap) ([]source.Config, error) {
	saved := map[string][]byte{}
	if p.store != nil {
		var err error
		if saved, err = p.store.Checkpoints(s.ctx); err != nil {
			return nil, err
		}
	}
	next, err := s.open(saved)
	if err == nil {
		p.saved = saved // the clocks of the new sources continue from these
	}
	return next, err
}
