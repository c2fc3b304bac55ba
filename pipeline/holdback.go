package pipeline

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/cluster/changes"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// holdback sorts the events of a source that has whole jobs in order of submission (collector.BySubmit) into the order
// in which they happened. It holds each event back until a submission with a later time was read. The order within one
// instant is that of changes.Records.
type holdback struct {
	held         heldHeap
	count        uint64
	newestSubmit time.Time
}

type heldEvent struct {
	ev  job.Event
	seq uint64
}

// add takes one event and calls emit for every event whose turn has come.
func (h *holdback) add(ev job.Event, emit func(job.Event)) {
	h.count++
	heap.Push(&h.held, heldEvent{ev: ev, seq: h.count})
	if ev.Kind != job.Submit || !ev.Time.After(h.newestSubmit) {
		return
	}
	h.newestSubmit = ev.Time
	h.release(emit, func(e heldEvent) bool { return e.ev.Time.Before(h.newestSubmit) })
}

// flush releases all events, because the log has ended.
func (h *holdback) flush(emit func(job.Event)) {
	h.release(emit, func(heldEvent) bool { return true })
}

func (h *holdback) release(emit func(job.Event), due func(heldEvent) bool) {
	instant := changes.NewRecords(func(ev *job.Event) *job.Event { return ev })
	use := func(ev *job.Event) error { emit(*ev); return nil }
	for len(h.held) > 0 && due(h.held[0]) {
		_ = instant.Add(heap.Pop(&h.held).(heldEvent).ev, use) // use returns no error
	}
	_ = instant.EndInstant(use)
}

// holdbackQuiet is how long a log that was read to its end must stay without new lines to count as complete. Its
// held-back events are then released, because no later submission of the log would release them.
const holdbackQuiet = 5 * time.Second

// releaseQuiet applies the held-back events of logs that have ended. If such a log continues after all, its next events
// may be earlier than those applied. They are used nevertheless.
func (p *Pipeline) releaseQuiet(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		in := p.sources[name]
		if in.hold == nil || len(in.hold.held) == 0 || !in.status.CaughtUp || p.stopped(in.cluster) ||
			time.Since(in.lastDelivery) < holdbackQuiet {
			continue
		}
		g := group{p: p, ctx: ctx}
		err := p.guard(in.cluster, &g, func() (err error) {
			in.hold.flush(func(ev job.Event) {
				in.events[p.writers[in.cluster].take(ev, name, p.nextSeq, &g.out)].Inc()
				g.keepEvent()
				if g.out.full() && err == nil {
					err = g.commit()
				}
			})
			if cp := in.newest.checkpoint; cp != nil {
				in.bad.commit(in.newest.bad)
				g.batch.Checkpoints = append(g.batch.Checkpoints, modelstore.Checkpoint{Source: name, Data: cp})
			}
			in.waiting = nil
			return err
		})
		if err == nil {
			err = g.commit()
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil // the log is read again after the next start
			}
			return err
		}
		p.publish()
	}
	return nil
}

// oldest returns the number of the oldest event that is still held back. If none is held back, it returns the number
// after that of the newest event.
func (h *holdback) oldest() uint64 {
	low := h.count + 1
	for _, e := range h.held {
		low = min(low, e.seq)
	}
	return low
}

type heldHeap []heldEvent

func (h heldHeap) Len() int { return len(h) }
func (h heldHeap) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	return cmp.Or(a.ev.Time.Compare(b.ev.Time), cmp.Compare(a.seq, b.seq)) < 0
}
func (h heldHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heldHeap) Push(x any)   { *h = append(*h, x.(heldEvent)) }
func (h *heldHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
