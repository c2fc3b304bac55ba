package pipeline

import (
	"strings"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// ImportName is the name, after the cluster's, of the source under which imported logs are journaled. No configured
// source can have it.
const ImportName = "import"

// ImportSource returns the source under which a cluster's imported logs are journaled. Its events come in any order.
func ImportSource(o collector.Options) source.Config {
	return source.Config{
		Name: o.Cluster + "/" + ImportName, Format: collector.Format{Name: ImportName, Order: collector.Live},
		Options: o,
	}
}

// AddImport makes an import's source known, before Run. It tells something only when somebody imports a log, so that
// nobody waits for it: it counts as read to its end.
func (p *Pipeline) AddImport(s source.Config) {
	p.addSource(s)
	p.sources[s.Name].status.CaughtUp = true
	p.publish()
}

// Finished makes of one event of a log's line the one that tells the whole of a job that is over: an End with all
// instants, or a Cancel with the submission. The fold derives submission and start from it, for which no forecast is
// made. ok is false for an event that does not end a job, or that does not tell when its job started (or was submitted,
// if it never ran): those are left to the sources that are followed.
func Finished(ev job.Event) (_ job.Event, ok bool) {
	switch {
	case ev.All: // somebody's wish, which another record fulfills
		return ev, false
	case ev.Kind == job.End && !ev.Times.Start.IsZero():
		if ev.Times.End.IsZero() {
			ev.Times.End = ev.Time
		}
	case (ev.Kind == job.End || ev.Kind == job.Cancel) && !ev.Times.Submit.IsZero():
		ev.Kind = job.Cancel
		ev.Times = job.Times{Submit: ev.Times.Submit, Eligible: ev.Times.Eligible}
	default:
		return ev, false
	}
	ev.Live = false
	return ev, true
}

// Standing says whether a finished job of an imported log may be taken in beside the picture.
type Standing uint8

const (
	// Past jobs may be taken in.
	Past Standing = iota
	// Followed jobs are left to the sources that are followed: their id is live, or they ended too lately.
	Followed
	// Forgotten jobs are older than the journal's retention: when their entries are pruned nothing would tell them from
	// new ones.
	Forgotten
)

// ImportFilter excludes jobs from an import that would disturb the picture, or that could not be recognised when the
// same log is imported again. It is used by one goroutine, which is not the writer's.
type ImportFilter struct {
	pipeline *Pipeline
	cluster  string
	until    time.Time
	oldest   time.Time
	seq      int64
	live     map[string]struct{}
}

// ImportFilter returns the filter of one import into a cluster. Jobs that ended after until are left to the sources
// that are followed.
func (p *Pipeline) ImportFilter(clusterName string, until time.Time) *ImportFilter {
	g := &ImportFilter{pipeline: p, cluster: clusterName, until: until, seq: -1}
	g.Refresh()
	return g
}

// Refresh takes over the published picture. It should be called every so many jobs.
func (g *ImportFilter) Refresh() {
	if retention := g.pipeline.cfg.Retention; retention > 0 {
		for _, v := range g.pipeline.Views() {
			if oldest := v.At.Add(-retention); !v.At.IsZero() && oldest.After(g.oldest) {
				g.oldest = oldest
			}
		}
	}
	v := g.pipeline.View(g.cluster)
	if v.Seq == g.seq {
		return
	}
	g.seq, g.live = v.Seq, make(map[string]struct{}, len(v.Running)+len(v.Queued))
	for _, list := range [...][]*cluster.Job{v.Running, v.Queued} {
		for _, j := range list {
			g.live[j.ID] = struct{}{}
		}
	}
}

// Standing judges a finished job.
func (g *ImportFilter) Standing(ev *job.Event) Standing {
	switch {
	case ev.Time.After(g.until), g.isLive(ev.ID):
		return Followed
	case ev.Time.Before(g.oldest):
		return Forgotten
	}
	return Past
}

// isLive reports whether the job lives, or the array or heterogeneous job of which it is a part.
func (g *ImportFilter) isLive(id string) bool {
	_, live := g.live[id]
	if i := strings.IndexAny(id, "_+"); !live && i > 0 {
		_, live = g.live[id[:i]]
	}
	return live
}
