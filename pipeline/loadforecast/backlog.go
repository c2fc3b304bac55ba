package loadforecast

import (
	"time"

	"github.com/waitcast/waitcast/cluster"
)

const (
	// maxNotifications bounds the notifications that wait. Beyond it all are dropped, and the model is reconciled with
	// the next sample.
	maxNotifications = 1 << 18
	// maxSamples and maxSampledJobs bound the samples that wait, and the jobs in them. Beyond them samples are left out
	// until half of those are done, since learning needs samples that follow each other. Samples for which a forecast
	// is wanted are taken all the same, up to twice as many.
	maxSamples     = 64
	maxSampledJobs = 400_000
)

type notificationKind uint8

const (
	notifySubmitted notificationKind = iota + 1
	notifySplit
	notifyUpdated
	notifyStarted
	notifyEnded
	notifyGone
	notifyLost
	notifySample
	notifyState
)

// notification is one message from the writer to the worker.
type notification struct {
	kind          notificationKind
	before, after *cluster.Job
	at            time.Time // of an end
	sample        *sample
	saved         *restored
	seq           int64 // of the newest event that it includes
}

// sample is the cluster at one instant.
type sample struct {
	view *cluster.View
	at   time.Time
	// reconcile reports that the model may differ from the cluster.
	reconcile bool
	// observe is set if the sample must be learned from, forecast if a forecast is wanted, live if the sample is of
	// now.
	observe, forecast, live bool
}

func (k *sample) jobs() int { return len(k.view.Running) + len(k.view.Queued) }

// backlog holds the notifications that wait, in their order.
type backlog struct {
	list    []notification
	samples int  // that wait or are in work
	jobs    int  // in those samples
	full    bool // samples are left out
	dropped bool // a notification was dropped: the model is reconciled with the next sample
}

// add appends a notification that is no sample. If there are too many, those before are dropped.
func (b *backlog) add(n notification) {
	if len(b.list) >= maxNotifications {
		b.drop()
	}
	b.list = append(b.list, n)
}

// drop forgets all that waits.
func (b *backlog) drop() {
	for i := range b.list {
		if k := b.list[i].sample; k != nil {
			b.done(k)
		}
	}
	clear(b.list)
	b.list, b.dropped = b.list[:0], true
}

// addSample appends a sample unless there are too many, and reports whether it did. seq is the number of the newest
// event that the sample includes.
func (b *backlog) addSample(k *sample, seq int64) bool {
	b.full = b.full && (b.samples > maxSamples/2 || b.jobs > maxSampledJobs/2)
	if b.full && !k.reconcile && !k.forecast || b.samples >= 2*maxSamples {
		b.dropped = b.dropped || k.reconcile
		return false
	}
	k.reconcile = k.reconcile || b.dropped
	b.dropped = false
	b.samples++
	b.jobs += k.jobs()
	b.full = b.samples >= maxSamples || b.jobs >= maxSampledJobs
	b.list = append(b.list, notification{kind: notifySample, sample: k, seq: seq})
	return true
}

// done counts a sample that waits no more.
func (b *backlog) done(k *sample) {
	b.samples--
	b.jobs -= k.jobs()
}

// takeAll returns all that waits. Its samples count until they are done.
func (b *backlog) takeAll() []notification {
	list := b.list
	b.list = nil
	return list
}

// giveBack puts notifications that were taken ahead of those that came since.
func (b *backlog) giveBack(list []notification) { b.list = append(list, b.list...) }
