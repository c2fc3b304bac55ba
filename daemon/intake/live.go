package intake

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"time"

	"github.com/waitcast/waitcast/history"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

const (
	// sameInstant is the maximum difference in seconds between the times that two logs give for one instant.
	sameInstant = 60
	// zoneStep is a number of seconds; the offsets of time zones are multiples of it. zoneMost is the greatest
	// difference between two zones.
	zoneStep = 15 * 60
	zoneMost = 26 * 3600
	// fewJobs is the number of jobs that must contradict the followed log before the import is refused as the log of
	// another cluster. Single contradictions happen, because a scheduler may use a number again.
	fewJobs = 3
)

// comparison compares the jobs of an import with the jobs of the followed log that have the same ids.
type comparison struct {
	seed     maphash.Seed
	jobs     map[uint64]liveJob
	from, to int64 // range of the followed log, in Unix seconds

	agree, shifted, contrary int64
	firstShifted             *difference
	firstContrary            *difference
}

// liveJob has the submission and the start of a job in the followed log, in Unix seconds; 0 if unknown.
type liveJob struct{ submit, start int64 }

// difference is a record that differs from the followed log.
type difference struct {
	file      string
	line      int64
	id        string
	kind      job.Kind
	here, log time.Time
}

// followed reads the events of the followed log from the journal.
func (r *run) followed(ctx context.Context) (*comparison, error) {
	c := &comparison{seed: maphash.MakeSeed(), jobs: map[uint64]liveJob{}, from: math.MaxInt64, to: math.MinInt64}
	err := r.cfg.Store.Replay(ctx, 0, func(e modelstore.Entry) error {
		if e.Event.Cluster == r.cfg.Cluster && e.Event.Kind != job.Machine {
			c.add(&e.Event)
		}
		return nil
	})
	return c, err
}

// add adds an event of the followed log.
func (c *comparison) add(ev *job.Event) {
	key := maphash.String(c.seed, ev.ID)
	known := c.jobs[key]
	submit, start := ev.Times.Submit, ev.Times.Start
	switch ev.Kind {
	case job.Submit:
		submit = ev.Time
	case job.Start:
		start = ev.Time
	}
	if !submit.IsZero() {
		known.submit = submit.Unix()
	}
	if !start.IsZero() {
		known.start = start.Unix()
	}
	c.jobs[key] = known
	c.from, c.to = min(c.from, ev.Time.Unix()), max(c.to, ev.Time.Unix())
}

// compare compares an event of an imported file with the followed log.
func (c *comparison) compare(ev *history.Event, files []history.File) {
	if ev.File == history.Stored || ev.Kind != job.Submit && ev.Kind != job.Start {
		return
	}
	known, ok := c.jobs[maphash.String(c.seed, ev.ID)]
	at := known.submit
	if ev.Kind == job.Start {
		at = known.start
	}
	if !ok || at == 0 {
		return
	}
	here := ev.Time.Unix()
	d := func() *difference {
		return &difference{files[ev.File].Path, ev.Line, ev.ID, ev.Kind, ev.Time.UTC(), time.Unix(at, 0).UTC()}
	}
	switch off := here - at; {
	case abs(off) <= sameInstant:
		c.agree++
	case isZone(off):
		if c.shifted++; c.firstShifted == nil {
			c.firstShifted = d()
		}
	case c.from-zoneMost <= here && here <= c.to+zoneMost:
		if c.contrary++; c.firstContrary == nil {
			c.firstContrary = d()
		}
	}
}

// isZone reports whether an offset in seconds can be the difference between two time zones.
func isZone(off int64) bool {
	off = abs(off)
	rest := off % zoneStep
	return off <= zoneMost+sameInstant && min(rest, zoneStep-rest) <= sameInstant
}

func abs(n int64) int64 { return max(n, -n) }

// judge returns a refusal if most of the records that are also in the followed log contradict it. Single
// contradictions are allowed: a requeued job has other instants, and a scheduler may use a number again.
func (c *comparison) judge(cfg *Config) error {
	all := c.agree + c.shifted + c.contrary
	switch {
	case 2*c.shifted > all:
		d := c.firstShifted
		return unprocessable(fmt.Sprintf("%s, %s off; the same goes for %d of the %d records that the followed log "+
			"has too", d, d.here.Sub(d.log).Round(time.Minute), c.shifted, all),
			fmt.Sprintf("nothing was imported: is time_zone of cluster %s, which is %s, that of the files?",
				cfg.Cluster, cfg.Zone))
	case 2*c.contrary > all && c.contrary >= fewJobs:
		return unprocessable(fmt.Sprintf("%s; %d of the %d records that the followed log has too contradict it",
			c.firstContrary, c.contrary, all),
			fmt.Sprintf("nothing was imported: are these files of cluster %s?", cfg.Cluster))
	}
	return nil
}

// String describes the difference.
func (d *difference) String() string {
	verb := "was submitted"
	if d.kind == job.Start {
		verb = "started"
	}
	return fmt.Sprintf("%s:%d: job %s %s at %s here and at %s in the followed log", d.file, d.line, d.id, verb,
		d.here.Format(time.RFC3339), d.log.Format(time.RFC3339))
}
