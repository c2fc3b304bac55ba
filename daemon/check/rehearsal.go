package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/internal/panics"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/pipeline"
)

// rehearsalLines is the number of the first and of the last lines of a log that go through the daemon's pipeline. They
// make forecasts, so each takes up to some milliseconds.
const rehearsalLines = 1000

// aBug is the hint of a finding about a panic.
const aBug = "report it, with the line: it is a bug of waitcast, and would stop the cluster"

// rehearsalTime is the time after which a rehearsal ends if the options have no limit.
const rehearsalTime = 5 * time.Second

// rehearsal passes the beginning and the end of a log through a pipeline that stores nothing.
type rehearsal struct {
	ctx        context.Context // ends with the time for the rehearsal
	log        *source.Config
	lines      chan *source.Delivery
	ended      chan struct{} // closed when the pipeline has ended
	fault      *panics.Error // why the pipeline has panicked, once ended is closed
	err        error         // why the pipeline has ended otherwise
	place      string        // the newest line
	total, bad int           // numbers of lines
}

// rehearse checks whether the first and the last lines of a log pass through the parser and the pipeline. A bug that
// they meet would stop the cluster later. It returns false if they meet one.
func (c *checker) rehearse(ctx context.Context, log *source.Config, about string, files []File) bool {
	cfg := daemon.PipelineConfig(c.cfg, true)
	cfg.Load = false
	p, err := pipeline.New(cfg, nil, c.opts.Now, zap.NewNop(), pipeline.NewMetrics(prometheus.NewRegistry()))
	if err != nil {
		c.add("log.pipeline", Failed, about, "", "%v", err)
		return false
	}
	p.AddSource(*log)
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.opts.Limit, rehearsalTime))
	defer cancel()
	r := &rehearsal{ctx: ctx, log: log, lines: make(chan *source.Delivery), ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.fault = panics.Catch(func() { r.err = p.Run(context.WithoutCancel(ctx), r.lines) })
	}()
	fault := panics.Catch(func() { err = r.read(files) })
	close(r.lines)
	<-r.ended
	_ = panics.Catch(p.Close) // after a panic, a part of it may be unusable
	if fault == nil {
		fault = r.fault
	}
	switch {
	case fault != nil:
		c.add("log.pipeline", Failed, about, aBug, "reading %s: %v", r.place, fault)
		return false
	case errors.Join(err, r.err) != nil:
		c.add("log.pipeline", Failed, about, "", "%v", errors.Join(err, r.err))
	case float64(r.bad) > hopelessly*float64(r.total):
		c.add("log.pipeline", Warning, about, "look at the beginning of the log: was its format another one then?",
			"%s of the first and last %s cannot be used", plural(r.bad, "line"), plural(r.total, "line"))
	}
	return true
}

// read reads the first lines of the oldest file and the last lines of the log. It returns early if the time is over or
// the pipeline has ended.
func (r *rehearsal) read(files []File) error {
	last, err := newestPart(files, rehearsalLines)
	if err != nil {
		return err
	}
	first := part{File: files[0], lines: rehearsalLines}
	if p := last[0]; p.Path == first.Path && !p.gzip() && p.offset == 0 {
		first.lines = 0 // the last lines are the whole log
	}
	for _, parts := range [][]part{{first}, last} {
		parser := r.log.Format.New(r.log.Options)
		header := func(line []byte) bool {
			p, ok := parser.(collector.HeaderParser)
			return ok && p.Header(line)
		}
		for i := range parts {
			err := parts[i].eachLine(header, func(number int64, line []byte, long bool) error {
				return r.line(parser, &parts[i], number, line, long)
			})
			if errors.Is(err, errEnough) {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// line passes one line through the parser, and its events to the pipeline.
func (r *rehearsal) line(parser collector.Parser, of *part, number int64, line []byte, long bool) error {
	r.place = fmt.Sprintf("the end of %s", of.Path)
	if number > 0 {
		r.place = fmt.Sprintf("%s, about line %d", of.Path, number)
	}
	r.total++
	d := &source.Delivery{Source: r.log, Lines: 1}
	err := parser.Parse(line, func(ev job.Event) { d.Events = append(d.Events, ev) })
	if err != nil && !long {
		r.bad++
		d.Bad = []source.BadLine{source.Refused(of.Path, number, line, err)}
	}
	select {
	case r.lines <- d:
		return nil
	case <-r.ended:
	case <-r.ctx.Done():
	}
	return errEnough
}
