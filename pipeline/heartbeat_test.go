package pipeline

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// TestIdle proves that Idle stays small while the writer has nothing to do, grows while the writer is blocked in the
// store, and becomes small again afterwards.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = 100 * time.Millisecond // time for five passes of an idle writer's loop
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
		idles := func(what string, longer bool) {
			t.Helper()
			<-time.After(5 * long)
			synctest.Wait()
			if got := p.Idle(); longer != (got > long) {
				t.Errorf("%s: idle for %s", what, got)
			}
		}
		idles("a writer without work goes round", false)
		in <- &source.Delivery{Source: src, Events: []job.Event{sized(event(job.Submit, "1", 0), 4)}, Lines: 1,
			Checkpoint: []byte("1")}
		<-hangs
		idles("a writer that hangs", true)
		close(goOn)
		go func() {
			for range hangs { // later commits do not hang
			}
		}()
		idles("a writer that goes on", false)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		close(hangs)
	})
}
