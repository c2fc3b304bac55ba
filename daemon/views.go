package daemon

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/pipeline"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// published is another name of api.Views. A struct that embeds it can have the method Views.
type published = api.Views

// coreViews are the views of a core. Their conditions include those of the core's start and of the configuration.
type coreViews struct {
	published
	core *coreParts
}

// Views implements api.Views. There are no views until the state is restored.
func (v coreViews) Views() []*readmodel.View {
	if !v.core.restored.Load() {
		return nil
	}
	return v.published.Views()
}

// Conditions implements api.Views.
func (v coreViews) Conditions() []readmodel.Condition {
	var out []readmodel.Condition
	if c := v.core.restoring(); c != nil {
		out = append(out, *c)
	} else {
		out = v.published.Conditions()
	}
	if c := v.core.opts.refused.Load(); c != nil {
		out = append(out, *c)
	}
	return out
}

// manyViews combines the views of several pipelines. It implements api.Views.
type manyViews struct {
	pipelines []*pipeline.Pipeline

	mu   sync.Mutex
	next chan struct{} // closed when any pipeline publishes a view
}

func newManyViews(pipelines []*pipeline.Pipeline) *manyViews {
	return &manyViews{pipelines: pipelines, next: make(chan struct{})}
}

// listen waits for new views of one pipeline and announces them, until ctx ends.
func (m *manyViews) listen(ctx context.Context, p *pipeline.Pipeline) {
	for {
		published := p.Published()
		select {
		case <-ctx.Done():
			return
		case <-published:
		}
		m.mu.Lock()
		close(m.next)
		m.next = make(chan struct{})
		m.mu.Unlock()
	}
}

// View implements api.Views.
func (m *manyViews) View(cluster string) *readmodel.View {
	for _, p := range m.pipelines {
		if v := p.View(cluster); v != nil {
			return v
		}
	}
	return nil
}

// Views implements api.Views.
func (m *manyViews) Views() []*readmodel.View {
	var all []*readmodel.View
	for _, p := range m.pipelines {
		all = append(all, p.Views()...)
	}
	slices.SortFunc(all, func(v, w *readmodel.View) int { return strings.Compare(v.Cluster, w.Cluster) })
	return all
}

// Published implements api.Views.
func (m *manyViews) Published() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.next
}

// Conditions implements api.Views.
func (m *manyViews) Conditions() []readmodel.Condition {
	var all []readmodel.Condition
	for _, p := range m.pipelines {
		all = append(all, p.Conditions()...)
	}
	return all
}
