package daemon

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// importRun is one import.
type importRun struct {
	importer *importer
	request  api.ImportRequest
	parser   collector.Parser
	progress func(wire.ImportProgress)
	filter   *pipeline.ImportFilter
	future   time.Time
	base     importCounts // what earlier imports have stored
	sent     int64        // deliveries
	jobs     []int64      // how many were sent up to the end of each delivery

	bytes    atomic.Int64
	ahead    bySubmit
	next     *source.Delivery // what is sent next
	events   int64            // events from the parser, of every kind
	finished int64            // jobs in the deliveries, the next one's included
	report   wire.ImportReport
	bad      map[string]int // positions in report.Bad
}

func newImportRun(i *importer, f collector.Format, req api.ImportRequest,
	progress func(wire.ImportProgress)) *importRun {
	now := i.now()
	base, _ := i.state()
	r := &importRun{
		importer: i, request: req, parser: f.New(i.source.Options), progress: progress,
		filter: i.pipeline.ImportFilter(req.Cluster, now.Add(-importLag)), future: now.Add(importFuture), base: base,
		report: wire.ImportReport{Cluster: req.Cluster, Format: req.Format, Name: req.Name, Bad: []wire.BadReason{}},
		bad:    map[string]int{},
	}
	r.newDelivery()
	return r
}

// all takes in the whole log and waits until it is stored.
func (r *importRun) all(ctx context.Context) (*wire.ImportReport, error) {
	err := r.read(ctx)
	if stored := r.importer.await(ctx, r.base.deliveries+r.sent, r.reportProgress); err == nil {
		err = stored
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	s, _ := r.importer.state()
	s = s.minus(r.base)
	r.report.Bytes, r.report.Jobs, r.report.NeverRanJobs = r.bytes.Load(), s.ended+s.neverRan, s.neverRan
	if s.refused > 0 {
		r.count(collector.ReasonField, s.refused, "a job that cannot be stored: see the quarantine")
	}
	r.report.KnownJobs = r.finished - r.report.Jobs - s.refused
	return &r.report, nil
}

// read sends the jobs of the log.
func (r *importRun) read(ctx context.Context) error {
	text, closeText, err := history.Decompressed(&countingReader{ctx, r.request.Body, &r.bytes})
	if err != nil {
		return r.unreadable(err)
	}
	defer closeText()
	lines := history.NewLines(text, importLineBytes)
	for {
		line, err := lines.Next()
		var long *history.LongLineError
		switch {
		case errors.Is(err, io.EOF):
			return r.end(ctx)
		case errors.As(err, &long):
			r.refuse(lines.Number(), line, collector.Bad(collector.ReasonLongLine, "", "%w", err))
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return errors.Join(r.unreadable(err), r.end(ctx))
		default:
			r.parse(lines.Number(), line)
		}
		r.next.Lines++
		r.report.Lines++
		if r.next.Lines >= importLines || len(r.next.Events) >= importLines {
			if err := r.send(ctx); err != nil {
				return err
			}
		}
	}
}

// unreadable returns the refusal of a log whose end was not reached.
func (r *importRun) unreadable(err error) error {
	return &api.Refused{Status: http.StatusUnprocessableEntity,
		Detail: fmt.Sprintf("%s cannot be read past line %d: %v", r.request.Name, r.report.Lines, err),
		Hint:   "what stands before was taken in; import the whole log again: what is known counts once"}
}

// parse reads one line.
func (r *importRun) parse(number int64, line []byte) {
	var finished []job.Event
	var late error
	err := r.parser.Parse(line, func(ev job.Event) {
		r.events++
		if ev.Time.After(r.future) {
			late = collector.Bad(collector.ReasonFuture, "time",
				"%s is later than now; is the time zone or the clock of the log wrong?", ev.Time.Format(time.RFC3339))
		} else if whole, ok := pipeline.Finished(ev); ok {
			finished = append(finished, whole)
		}
	})
	if late != nil {
		err = late
		finished = nil
	}
	if err != nil {
		r.refuse(number, line, err)
	}
	for n := range finished {
		r.judge(&finished[n])
	}
}

// judge takes in a finished job, or leaves it out.
func (r *importRun) judge(ev *job.Event) {
	switch r.filter.Standing(ev) {
	case pipeline.Followed:
		r.report.FollowedJobs++
		return
	case pipeline.Forgotten:
		r.report.TooOldJobs++
		return
	}
	heap.Push(&r.ahead, submitted{*ev, r.events})
	if len(r.ahead) > importAhead {
		r.take()
	}
}

// take moves the job that was submitted first into the next delivery.
func (r *importRun) take() {
	r.next.Events = append(r.next.Events, heap.Pop(&r.ahead).(submitted).ev)
	r.finished++
}

// refuse notes a bad line.
func (r *importRun) refuse(number int64, line []byte, err error) {
	bad := source.Refused(r.request.Name, number, line, err)
	if r.report.BadLines < importQuarantine {
		r.next.Bad = append(r.next.Bad, bad)
	}
	r.count(bad.Reason, 1, fmt.Sprintf("line %d: %v", number, err))
}

func (r *importRun) count(reason string, lines int64, message string) {
	at, known := r.bad[reason]
	if !known {
		at = len(r.report.Bad)
		r.bad[reason] = at
		r.report.Bad = append(r.report.Bad, wire.BadReason{Reason: reason})
	}
	b := &r.report.Bad[at]
	if b.Lines += lines; len(b.First) < importFirst {
		b.First = append(b.First, message)
	}
	r.report.BadLines += lines
}

// send sends the next delivery to the writer, as soon as that can take it. A log whose beginning has no record at all
// is refused before anything of it is sent.
func (r *importRun) send(ctx context.Context) error {
	if r.sent == 0 && r.events == 0 && 2*r.report.BadLines > r.report.Lines {
		return &api.Refused{Status: http.StatusUnprocessableEntity,
			Detail: fmt.Sprintf("none of the first %d lines of %s is a record of format %s: %s",
				r.report.Lines, r.request.Name, r.request.Format, r.report.Bad[0].First[0]),
			Hint: "say which format it has"}
	}
	r.reportProgress()
	select {
	case r.importer.deliveries <- r.next:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.sent++
	r.jobs = append(r.jobs, r.finished)
	r.newDelivery()
	r.filter.Refresh()
	return nil
}

func (r *importRun) newDelivery() {
	r.next = &source.Delivery{Source: &r.importer.source, CaughtUp: true, Stored: r.importer.stored}
}

// end sends what is left.
func (r *importRun) end(ctx context.Context) error {
	for len(r.ahead) > 0 || r.next.Lines > 0 {
		for len(r.ahead) > 0 && len(r.next.Events) < importLines {
			r.take()
		}
		if err := r.send(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reportProgress reports how far the import is.
func (r *importRun) reportProgress() {
	s, _ := r.importer.state()
	var stored int64
	if n := s.deliveries - r.base.deliveries; n > 0 {
		stored = r.jobs[n-1]
	}
	r.progress(wire.ImportProgress{Bytes: r.bytes.Load(), Lines: r.report.Lines, Jobs: stored,
		BadLines: r.report.BadLines})
}

// submitted is a finished job that waits for jobs that were submitted before it.
type submitted struct {
	ev    job.Event
	order int64 // in the log
}

func (s *submitted) at() time.Time {
	if !s.ev.Times.Submit.IsZero() {
		return s.ev.Times.Submit
	}
	return s.ev.Times.Start
}

// bySubmit is a heap of jobs, the one that was submitted first on top.
type bySubmit []submitted

func (h bySubmit) Len() int { return len(h) }
func (h bySubmit) Less(i, j int) bool {
	return cmp.Or(h[i].at().Compare(h[j].at()), cmp.Compare(h[i].order, h[j].order)) < 0
}
func (h bySubmit) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *bySubmit) Push(x any)   { *h = append(*h, x.(submitted)) }
func (h *bySubmit) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = submitted{}
	*h = old[:len(old)-1]
	return last
}
