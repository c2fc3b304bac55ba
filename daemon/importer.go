package daemon

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/lsf"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/collector/swflog"
	"github.com/waitcast/waitcast/pipeline"
)

const (
	// importLines bounds the lines and the jobs of one delivery of an import.
	importLines = 1000
	// importAhead is how many jobs are sorted by submission, the order in which the chains learn: most logs are in the
	// order of ends.
	importAhead = 20_000
	// importLag is how long a job must be over: the sources that are followed may be behind by that much.
	importLag = time.Minute
	// importFuture is how far ahead of the clock a record may be, as for the sources that are followed.
	importFuture = 24 * time.Hour
	// importQuarantine bounds the bad lines of one import that go to quarantine, so that it cannot push out all others.
	importQuarantine = 1000
	// importFirst is how many messages the report has for each reason.
	importFirst = 3
)

// importFormats returns the formats whose record of a job's end describes the whole job.
func importFormats() map[string]collector.Format {
	all := map[string]collector.Format{}
	for _, f := range []collector.Format{
		slurm.Sacct(), slurm.Jobcomp(), pbs.Format(), sge.Accounting(), lsf.Acct(), lsf.Events(), swflog.Format(),
	} {
		all[f.Name] = f
	}
	return all
}

// importer is the source of the imports into one cluster. To the pipeline it is a source like the others, which now and
// then delivers jobs of the past.
type importer struct {
	source     source.Config
	pipeline   *pipeline.Pipeline
	now        func() time.Time
	deliveries chan *source.Delivery
	busy       chan struct{} // holds one while an import is under way
	stopped    chan struct{} // closed once the daemon stops
	stop       func()
	releasing  sync.WaitGroup

	mu      sync.Mutex
	counts  importCounts
	changed chan struct{} // closed at the next change of counts
}

// importCounts counts the committed deliveries of an importer and their jobs, since the start of the process.
type importCounts struct {
	deliveries, ended, neverRan, refused int64
}

func (s importCounts) minus(t importCounts) importCounts {
	return importCounts{s.deliveries - t.deliveries, s.ended - t.ended, s.neverRan - t.neverRan, s.refused - t.refused}
}

func newImporter(o collector.Options, p *pipeline.Pipeline, now func() time.Time) *importer {
	i := &importer{
		source: pipeline.ImportSource(o), pipeline: p, now: now,
		deliveries: make(chan *source.Delivery), busy: make(chan struct{}, 1),
		stopped: make(chan struct{}), changed: make(chan struct{}),
	}
	i.stop = sync.OnceFunc(func() { close(i.stopped) })
	return i
}

// Next implements reader.
func (i *importer) Next(ctx context.Context) (*source.Delivery, error) {
	select {
	case d := <-i.deliveries:
		return d, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close implements reader.
func (i *importer) Close() error {
	i.stop()
	i.releasing.Wait()
	return nil
}

// stored counts a delivery that is stored.
func (i *importer) stored(r source.Receipt) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counts.deliveries++
	i.counts.ended += r.Ended
	i.counts.neverRan += r.NeverRan
	i.counts.refused += r.Refused
	close(i.changed)
	i.changed = make(chan struct{})
}

// state returns the counts of what is stored, and a channel that is closed when they change.
func (i *importer) state() (importCounts, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts, i.changed
}

// await waits until a number of deliveries is stored.
func (i *importer) await(ctx context.Context, deliveries int64, progress func()) error {
	for {
		s, changed := i.state()
		if s.deliveries >= deliveries {
			return nil
		}
		progress()
		select {
		case <-changed:
		case <-i.stopped:
			return errStopping
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin returns an error if an import is under way, or if the cluster's own logs are still being read: jobs of the past
// may not come into the middle of them. It does not wait.
func (i *importer) begin() error {
	for _, s := range i.pipeline.View(i.source.Options.Cluster).Sources {
		if !s.Tried() {
			return &api.Refused{Status: http.StatusServiceUnavailable,
				Detail: fmt.Sprintf("source %s is still being read to its end", s.Name),
				Hint:   "import once /readyz says ready"}
		}
	}
	select {
	case i.busy <- struct{}{}:
		return nil
	default:
		return &api.Refused{Status: http.StatusConflict,
			Detail: "another import into cluster " + i.source.Options.Cluster + " is under way",
			Hint:   "import again when it is done"}
	}
}

// release lets the next import begin once the deliveries of this one are stored: the counts from then on are the next
// one's.
func (i *importer) release(deliveries int64) {
	if s, _ := i.state(); s.deliveries >= deliveries {
		<-i.busy
		return
	}
	i.releasing.Go(func() {
		if i.await(context.Background(), deliveries, func() {}) == nil {
			<-i.busy
		}
	})
}
