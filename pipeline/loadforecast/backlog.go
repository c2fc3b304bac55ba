package loadforecast

import (
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster"
)

const (
	// maxNotifications is the maximum number of waiting notifications, each with a job of about 1 KB. If there are
	// more, the older half is dropped, and the model is reconciled with the next sample. So if a history is read faster
	// than the load is learnt, at least the newest jobs are learnt.
	maxNotifications = 1 << 16
	// batchSize is the number of notifications that are taken at a time. Taken notifications do not count as waiting.
	batchSize = 1 << 13
	// maxSamples and maxSampledJobs bound the number of waiting samples and the number of jobs in them. When a bound is
	// reached, no sample is accepted until both numbers are at most half of their bounds, because learning needs
	// consecutive samples. Samples that reconcile the model or need a forecast are still accepted, up to twice
	// maxSamples.
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

// notification is one message from the pipeline's writer to the worker.
type notification struct {
	kind          notificationKind
	before, after *cluster.Job
	at            time.Time // time of an end
	sample        *sample
	saved         *restored
	seq           int64 // number of the newest event when the message was sent
}

// sample is the state of the cluster at one instant.
type sample struct {
	view *cluster.View
	at   time.Time
	// reconcile is set if the jobs of the model may differ from those of the cluster.
	reconcile bool
	// observe is true if the model must learn from the sample. forecast is true if a forecast is to be made from it.
	// live is true if the sample shows the present, not history.
	observe, forecast, live bool
}

func (k *sample) jobs() int { return len(k.view.Running) + len(k.view.Queued) }

// backlog is the queue of waiting notifications.
type backlog struct {
	list    []notification
	samples int  // number of samples that wait or are being processed
	jobs    int  // number of jobs in those samples
	full    bool // too many samples wait, so further ones are not accepted
	dropped bool // a notification was dropped, so the next sample must reconcile the model
}

// add appends a notification that is not a sample. If too many wait, the older half is dropped.
func (b *backlog) add(n notification) {
	if len(b.list) >= maxNotifications {
		b.drop(maxNotifications / 2)
	}
	b.list = append(b.list, n)
}

// drop removes the given number of the oldest waiting notifications. The next sample will reconcile the model.
func (b *backlog) drop(n int) {
	for i := range b.list[:n] {
		if k := b.list[i].sample; k != nil {
			b.done(k)
		}
	}
	b.list = slices.Delete(b.list, 0, n)
	b.dropped = true
	for i := range b.list {
		if k := b.list[i].sample; k != nil {
			k.reconcile, b.dropped = true, false
			return
		}
	}
}

// addSample appends a sample unless there are too many, and reports whether it was appended. seq is the number of the
// newest event that the sample includes.
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

// done removes a sample from the counts, because it was processed or dropped.
func (b *backlog) done(k *sample) {
	b.samples--
	b.jobs -= k.jobs()
}

// take removes and returns the oldest waiting notifications, at most batchSize. Their samples stay in the counts until
// done is called.
func (b *backlog) take() []notification {
	n := min(len(b.list), batchSize)
	list := slices.Clone(b.list[:n])
	b.list = slices.Delete(b.list, 0, n)
	return list
}

// takeAll removes and returns all waiting notifications.
func (b *backlog) takeAll() []notification {
	list := b.list
	b.list = nil
	return list
}

// giveBack puts taken notifications back, in front of those that came since.
func (b *backlog) giveBack(list []notification) { b.list = append(list, b.list...) }
