package pipeline

import (
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/predictor"
	"github.com/waitcast/waitcast/workload/uniformlog"
)

// surfaceAge is how old, in event time, a surface may be when a job is submitted.
const surfaceAge = time.Second

// surface is what could be known of the cluster at one instant. It is kept for the forecasts of jobs that were submitted then and whose size or queue is told
// only later (Slurm's next snapshot).
type surface struct {
	At    time.Time
	Pools []*cluster.Pool
	// Running held processors, Waiting competed for them and were known well enough, in the order of submission.
	Running, Waiting []*cluster.Job
	// Vague waited or ran, too, but their sizes or queues were not known yet; Later were submitted while the surface was current, in that order.
	Vague, Later []*open
	Laws         laws
	// Facts are what the scheduler had told of the machine by then, nil if nothing.
	Facts *job.Facts
}

// laws are the lifetime laws of one instant, by queue and class.
type laws map[string][len(classes)]*predictor.Law

// Law implements predictor.Models.
func (l laws) Law(queue string, procs int) (predictor.Law, bool) {
	class := classIndex(procs)
	for _, name := range [...]string{queue, allQueues} {
		if law := l[name][class]; law != nil {
			return *law, true
		}
	}
	return predictor.Law{}, false
}

// freeze returns the laws as they are now.
func (m *models) freeze() laws {
	frozen := make(laws, len(m.queues))
	for name, q := range m.queues {
		var both [len(classes)]*predictor.Law
		for i, l := range q.windows {
			l.refit(m.now)
			if l.usable(m.cfg.MinSamples) {
				law := l.law
				both[i] = &law
			}
		}
		frozen[name] = both
	}
	return frozen
}

// known reports whether enough has been told of a job to make its forecast: its size and its queue. A log that tells the size with the submission has no
// queues, if it tells none.
func (o *open) known() bool {
	return o.Job.Procs > 0 && !o.Job.Unsized && (!o.Job.Unqueued || o.Sized)
}

// current returns the surface that a job submitted at the open instant is forecast on.
func (l *ledger) current(s *cluster.State, m *models) *surface {
	if l.surface != nil && l.instant.Sub(l.surface.At) <= surfaceAge {
		return l.surface
	}
	f := &surface{At: l.instant, Pools: s.Pools(), Laws: m.freeze(), Facts: s.Facts()}
	late := make(map[string]*open, len(l.late))
	for _, o := range l.late {
		late[o.Job.ID] = o
	}
	wait := func(j *cluster.Job) {
		switch o := l.open[j.ID]; {
		case o != nil && !o.Made && o.Surface == nil:
			// of this very instant: it is among those that come later
		case o != nil && !o.known():
			f.Vague = append(f.Vague, o)
		default:
			f.Waiting = append(f.Waiting, j)
		}
	}
	for _, j := range s.Running() {
		if j.Start.Before(l.instant) {
			if o := late[j.ID]; o != nil && o.Job.Attempt == j.Attempt {
				f.Vague = append(f.Vague, o)
			} else {
				f.Running = append(f.Running, j)
			}
		} else if j.Submit.Before(l.instant) {
			wait(j)
		}
	}
	for _, j := range s.Queued() {
		if !j.Held && j.Submit.Before(l.instant) {
			wait(j)
		}
	}
	l.surface = f
	return f
}

// scene returns what a job saw that was the place-th submitted while the surface was current.
func (f *surface) scene(name string, o *open) *predictor.Scene {
	j := &o.Job
	pool := cluster.PoolOf(f.Pools, j.Queue)
	scene := predictor.NewScene(name, j.Submit, pool, j.Attributes, f.Laws)
	inPool := func(queue string) bool { return len(f.Pools) == 1 || cluster.PoolOf(f.Pools, queue) == pool }
	for _, r := range f.Running {
		if inPool(r.Queue) {
			scene.Running = append(scene.Running, r)
		}
	}
	for _, w := range f.Waiting {
		if inPool(w.Queue) {
			scene.Ahead = append(scene.Ahead, w)
		}
	}
	for _, list := range [...][]*open{f.Vague, f.Later[:o.Place]} {
		for _, w := range list {
			switch started := w.Started && w.Closed.Before(f.At); {
			case !inPool(w.Job.Queue):
			case started:
				scene.Running = append(scene.Running, w.running())
			default:
				scene.Ahead = append(scene.Ahead, &w.Job)
			}
		}
	}
	everyone := func(*cluster.Job) bool { return true }
	scene.Ahead = rank(scene.Ahead, j, cluster.NewRules(f.Facts), j.Submit, everyone)
	return scene
}

// running returns the job of a forecast as it runs.
func (o *open) running() *cluster.Job {
	j := o.Job
	j.Start = o.Closed
	return &j
}

// behind adds the other tasks of an array to what is ahead of its last one.
func behind(scene *predictor.Scene, others int) {
	if others < 1 {
		return
	}
	a := scene.Request
	a.Tasks = others
	scene.Ahead = append(scene.Ahead, &cluster.Job{Attributes: a})
}

// savedLaw is what is saved of a law: the forecasts need no more.
type savedLaw struct {
	uniformlog.Model
	N     int    `json:"n"`
	Queue string `json:"queue"`
	Class int    `json:"class"`
	Name  string `json:"name"`
	Drawn []int  `json:"drawn,omitempty"` // one, or none
}

// savedSurface is a surface with the jobs by their places in a table, and the opens by their places in another.
type savedSurface struct {
	At      time.Time       `json:"at"`
	Pools   []*cluster.Pool `json:"pools"`
	Running []int           `json:"running"`
	Waiting []int           `json:"waiting"`
	Vague   []int           `json:"vague"`
	Later   []int           `json:"later"`
	Laws    []savedLaw      `json:"laws"`
	Facts   []int           `json:"facts,omitempty"` // one, or none
}

// table numbers pointers in the order in which they are met.
type table[T any] struct {
	all   []*T
	index map[*T]int
}

func (t *table[T]) number(list []*T) []int {
	if t.index == nil {
		t.index = map[*T]int{}
	}
	out := make([]int, len(list))
	for i, v := range list {
		n, ok := t.index[v]
		if !ok {
			n = len(t.all)
			t.index[v] = n
			t.all = append(t.all, v)
		}
		out[i] = n
	}
	return out
}

func pickAll[T any](all []*T, numbers []int) ([]*T, bool) {
	out := make([]*T, len(numbers))
	for i, n := range numbers {
		if n < 0 || n >= len(all) {
			return nil, false
		}
		out[i] = all[n]
	}
	return out, true
}

func (f *surface) save(jobs *table[cluster.Job], opens *table[open], facts *table[job.Facts], curves *table[drawn]) savedSurface {
	out := savedSurface{
		At: f.At.UTC(), Pools: f.Pools, Running: jobs.number(f.Running), Waiting: jobs.number(f.Waiting),
		Vague: opens.number(f.Vague), Later: opens.number(f.Later),
	}
	if f.Facts != nil {
		out.Facts = facts.number([]*job.Facts{f.Facts})
	}
	for name, both := range f.Laws {
		for class, law := range both {
			if law != nil {
				saved := savedLaw{Model: law.Model, N: law.N, Queue: name, Class: class, Name: law.Name}
				if curve, ok := law.Lifetime.(*drawn); ok {
					saved.Drawn = curves.number([]*drawn{curve})
				}
				out.Laws = append(out.Laws, saved)
			}
		}
	}
	slices.SortFunc(out.Laws, func(a, b savedLaw) int {
		if a.Queue != b.Queue {
			return strings.Compare(a.Queue, b.Queue)
		}
		return a.Class - b.Class
	})
	return out
}

func (in *savedSurface) restore(jobs []*cluster.Job, opens []*open, facts []*job.Facts, curves []*drawn) (*surface, bool) {
	f := &surface{At: in.At, Pools: in.Pools, Laws: laws{}}
	ok := len(in.Pools) > 0
	fill := func(good bool) { ok = ok && good }
	var good bool
	f.Running, good = pickAll(jobs, in.Running)
	fill(good)
	f.Waiting, good = pickAll(jobs, in.Waiting)
	fill(good)
	f.Vague, good = pickAll(opens, in.Vague)
	fill(good)
	f.Later, good = pickAll(opens, in.Later)
	fill(good)
	told, good := pickAll(facts, in.Facts)
	fill(good)
	if len(told) > 0 {
		f.Facts = told[0]
	}
	for _, l := range in.Laws {
		if l.Class < 0 || l.Class >= len(classes) {
			return nil, false
		}
		law := predictor.NewLaw(uniformlog.Fit{Model: l.Model, N: l.N}, l.Queue, classes[l.Class])
		law.Name = l.Name
		curve, good := pickAll(curves, l.Drawn)
		fill(good)
		if len(curve) > 0 {
			law.Lifetime = curve[0]
		}
		both := f.Laws[l.Queue]
		both[l.Class] = &law
		f.Laws[l.Queue] = both
	}
	return f, ok
}
