package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// TestIdle proves that Idle stays small while the writer has nothing to do, grows while it hangs in the store, and falls again afterwards.
func TestIdle(t *testing.T) {
	const long = 100 * time.Millisecond // five rounds of a writer with nothing to do
	hangs, goOn := make(chan bool), make(chan bool)
	p, src := newPipeline(testConfig(), &memory{fail: func(operation string) error {
		if operation == "commit" {
			hangs <- true
			<-goOn
		}
		return nil
	}}, collector.Live)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	in := make(chan *source.Delivery)
	go func() { ended <- p.Run(ctx, in) }()
	comes := func(what string, cond func() bool) {
		t.Helper()
		deadline := time.Now().Add(20 * time.Second)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !cond() {
			if <-tick.C; time.Now().After(deadline) {
				t.Fatalf("%s: idle for %s", what, p.Idle())
			}
		}
	}
	born := time.Now()
	comes("a writer without work goes round", func() bool { return time.Since(born) > 2*long && p.Idle() < long })
	in <- &source.Delivery{Source: src, Events: []job.Event{sized(event(job.Submit, "1", 0), 4)}, Lines: 1, Checkpoint: []byte("1")}
	<-hangs
	comes("a writer that hangs", func() bool { return p.Idle() > 2*long })
	close(goOn)
	go func() {
		for range hangs { // later commits do not hang
		}
	}()
	comes("a writer that goes on", func() bool { return p.Idle() < long })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(hangs)
}
