package pipeline

import (
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// A panic while a cluster's events are folded, or in the background work of the cluster, stops the cluster, and no
// other. Its published view stays. Its further deliveries are dropped, and no snapshot is saved: the next process goes
// on from the newest snapshot and the committed checkpoints.

// guard calls work for a cluster, unless the cluster is stopped. If work panics, guard stops the cluster; what the
// event during which it happened has added to g is removed. g may be nil. Without a store, as in a one-shot run, guard
// does not recover.
func (p *Pipeline) guard(name string, g *group, work func() error) error {
	if p.store == nil {
		return work()
	}
	if p.stopped(name) {
		return nil
	}
	if g != nil {
		g.keepEvent()
	}
	var err error
	if caught := panics.Catch(func() { err = work() }); caught != nil {
		if g != nil {
			if g.committing { // not the fault of this cluster
				panics.Raise(caught)
			}
			g.dropEvent()
		}
		p.stop(name, caught)
		return nil
	}
	return err
}

// stopped reports whether a panic has stopped a cluster.
func (p *Pipeline) stopped(name string) bool {
	l := p.writers[name]
	return l != nil && l.stopped != nil
}

// anyStopped reports whether there is a stopped cluster.
func (p *Pipeline) anyStopped() bool {
	for _, l := range p.writers {
		if l.stopped != nil {
			return true
		}
	}
	return false
}

// stop stops a cluster because of a panic.
func (p *Pipeline) stop(name string, caught *panics.Error) {
	l := p.writers[name]
	if l == nil || l.stopped != nil {
		return
	}
	p.log.Error("a bug has stopped a cluster: the others go on; restart the daemon, and report the bug",
		zap.String("cluster", name), zap.Error(caught), zap.ByteString("stack", caught.Stack))
	l.stopped = &readmodel.Condition{
		Name: readmodel.ClusterStopped, Cluster: name, Since: p.now(),
		Reason: plain(fmt.Sprintf("a bug has stopped it (%v): restart the daemon, and report it", caught)),
	}
	l.owed = false
	if r := p.rebuilds.of(name); r != nil {
		r.cancel()
	}
	p.metrics.Stopped.WithLabelValues(name).Set(1)
	p.publishNeeded = true
}

// Stop stops a cluster because of a panic in a goroutine that reads its logs. It returns once Run has taken the
// request, or when Run ends.
func (p *Pipeline) Stop(done <-chan struct{}, cluster string, caught *panics.Error) {
	select {
	case p.stops <- stopRequest{cluster, caught}:
	case <-done:
	}
}

// stopRequest is a call of Stop, passed to the goroutine of Run.
type stopRequest struct {
	cluster string
	caught  *panics.Error
}

// caughtIn calls work and returns its error, or its panic as an error.
func caughtIn(work func() error) (err error) {
	if caught := panics.Catch(func() { err = work() }); caught != nil {
		return caught
	}
	return err
}

// errStopped is the error of a request that a stopped cluster cannot serve.
func errStopped(l *clusterWriter) error {
	return fmt.Errorf("cluster %s: %s", l.state.Name(), l.stopped.Reason)
}

// encodePanic is the error of an encoder that has panicked.
type encodePanic struct {
	cluster string
	caught  *panics.Error
}

// Error implements error.
func (e *encodePanic) Error() string { return fmt.Sprintf("cluster %s: %v", e.cluster, e.caught) }

// guardEncoder returns an encoder that returns an *encodePanic where encode panics.
func guardEncoder(name string, encode modelstore.Encoder) modelstore.Encoder {
	guarded := func(work func() error) error {
		err := caughtIn(work)
		var caught *panics.Error
		if errors.As(err, &caught) {
			return &encodePanic{name, caught}
		}
		return err
	}
	return func() (int, func(put func([]byte) error) error, error) {
		var size int
		var write func(put func([]byte) error) error
		err := guarded(func() (err error) {
			size, write, err = encode()
			return err
		})
		return size, func(put func([]byte) error) error { return guarded(func() error { return write(put) }) }, err
	}
}

// stopEncoding stops the cluster whose encoder has panicked in a commit that ended with err. It reports whether there
// is one.
func (p *Pipeline) stopEncoding(err error) bool {
	var fault *encodePanic
	if !errors.As(err, &fault) {
		return false
	}
	p.stop(fault.cluster, fault.caught)
	return true
}

// keepEvent notes that the group ends with a whole event.
func (g *group) keepEvent() {
	g.whole = groupSize{len(g.out.entries), len(g.out.rows), g.out.bytes, len(g.batch.BadLines), g.p.seq}
}

// dropEvent removes what was added to the group after keepEvent, and gives the numbers of its entries back.
func (g *group) dropEvent() {
	g.out.entries, g.out.rows = g.out.entries[:g.whole.entries], g.out.rows[:g.whole.rows]
	g.out.bytes, g.batch.BadLines = g.whole.bytes, g.batch.BadLines[:g.whole.badLines]
	g.p.seq = g.whole.seq
}

// groupSize is the size of a group, and the number of the newest entry, after a whole event.
type groupSize struct {
	entries, rows, bytes, badLines int
	seq                            int64
}
