package pipeline

import (
	"time"

	"github.com/waitcast/waitcast/predictor/engine"
)

// sightAge is how old, in event time, a kept view may be when a job is submitted whose forecast will be made on it.
const sightAge = time.Second

// sights is how many views are kept at most that are a second apart; beyond, a view stands for half a minute.
const (
	sights      = 16
	sightAgeMax = 30 * time.Second
)

// sight is what could be known of the cluster at one instant. It is kept for the forecasts of jobs that were submitted then and whose size or queue is told
// only later (Slurm's next snapshot).
type sight struct {
	At   time.Time
	View *engine.View
}

// known reports whether enough has been told of a job to make its forecast: its size and its queue. A log that tells the size with the submission has no
// queues, if it tells none.
func (o *open) known() bool {
	return o.Job.Procs > 0 && !o.Job.Unsized && (!o.Job.Unqueued || o.Sized)
}

// current returns the view that the forecast of a job submitted at the open instant is made on. How old it may be follows from the events alone.
func (l *ledger) current() *sight {
	kept := map[*sight]bool{}
	for _, o := range l.late {
		kept[o.Sight] = true
	}
	age := sightAge
	if len(kept) >= sights {
		age = sightAgeMax
	}
	if l.sight == nil || l.instant.Sub(l.sight.At) > age {
		l.sight = &sight{At: l.instant, View: l.follower.engine.View(clock(l.instant))}
	}
	return l.sight
}
