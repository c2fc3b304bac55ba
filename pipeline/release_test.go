package pipeline

import (
	"runtime"
	"testing"
	"weak"

	"github.com/waitcast/waitcast/collector"
)

// TestReleaseKeepsOnlyViews proves that after Release a pipeline keeps its views in memory, but not the engine, the
// ledger and the picture.
func TestReleaseKeepsOnlyViews(t *testing.T) {
	p, src := newPipeline(testConfig(), nil, collector.Live)
	take(t, p, deliveries(src, workload(t, 100, 4)[:200], 90, 4)...)
	l := p.writers["c"]
	engine, ledger, state := weak.Make(l.ledger.feeder.engine), weak.Make(l.ledger), weak.Make(l.state)
	l = nil
	runtime.GC()
	if engine.Value() == nil || ledger.Value() == nil || state.Value() == nil {
		t.Fatal("the writer is gone before it is released")
	}
	p.Close()
	p.Release()
	runtime.GC()
	runtime.GC() // the first may still find the stack of a goroutine that has just ended
	if engine.Value() != nil || ledger.Value() != nil || state.Value() != nil {
		t.Errorf("kept: engine %v, ledger %v, picture %v", engine.Value() != nil, ledger.Value() != nil,
			state.Value() != nil)
	}
	if v := p.View("c"); v.Seq == 0 || len(v.Running)+len(v.Queued) == 0 {
		t.Errorf("the view is of event %d, with %d running and %d queued jobs", v.Seq, len(v.Running), len(v.Queued))
	}
}
