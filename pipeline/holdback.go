package pipeline

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

// holdback sorts the events of a source that has whole jobs in order of submission (collector.BySubmit) into the order
// in which they happened. It holds each event back until a submission with a later time was read. At one instant, ends
// come first, then submissions in the order of the file, then starts. But if a job starts and ends, or is submitted and
// cancelled, at one instant, its end comes after the starts.
type holdback struct {
	held         heldHeap
	count        uint64
	newestSubmit time.Time
}

type heldEvent struct {
	ev    job.Event
	phase uint8
	seq   uint64
}

func phase(ev job.Event) uint8 {
	switch {
	case ev.Kind == job.Submit:
		return 1
	case ev.Kind == job.Start:
		return 2
	case ev.Kind == job.End && !ev.Times.Start.Before(ev.Time),
		ev.Kind == job.Cancel && !ev.Times.Submit.Before(ev.Time):
		return 3
	}
	return 0
}

// add takes one event and calls emit for every event whose turn has come.
func (h *holdback) add(ev job.Event, emit func(job.Event)) {
	h.count++
	heap.Push(&h.held, heldEvent{ev: ev, phase: phase(ev), seq: h.count})
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
	for len(h.held) > 0 && due(h.held[0]) {
		emit(heap.Pop(&h.held).(heldEvent).ev)
	}
}

// holdbackQuiet is how long a log that was read to its end must stay without new lines to count as complete. Its
// held-back events are then released, because no later submission of the log would release them.
const holdbackQuiet = 5 * time.Second

// releaseQuiet applies the held-back events of logs that have ended. If such a log continues after all, its next events
// may be earlier than those applied. They are used nevertheless.
func (p *Pipeline) releaseQuiet(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		in := p.sources[name]
		if in.hold == nil || len(in.hold.held) == 0 || !in.status.CaughtUp ||
			time.Since(in.lastDelivery) < holdbackQuiet {
			continue
		}
		g := group{p: p, ctx: ctx}
		var err error
		in.hold.flush(func(ev job.Event) {
			in.events[p.writers[in.cluster].take(ev, name, p.nextSeq, &g.out)].Inc()
			if g.out.full() && err == nil {
				err = g.commit()
			}
		})
		if in.newest != nil {
			g.batch.Checkpoints = append(g.batch.Checkpoints, modelstore.Checkpoint{Source: name, Data: in.newest})
		}
		in.waiting = nil
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
	return cmp.Or(a.ev.Time.Compare(b.ev.Time), cmp.Compare(a.phase, b.phase), cmp.Compare(a.seq, b.seq)) < 0
}
func (h heldHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *heldHeap) Push(x any)   { *h = append(*h, x.(heldEvent)) }
func (h *heldHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
