package residual

import (
	"hash/fnv"
	"math"
)

// longest is the longest limit in seconds that is one, and what longer runs count as.
const longest = 1e12

// Job is what is known of a job when it starts.
type Job struct {
	Queue, User string
	App         string  // its name or executable; empty where the log does not tell
	Procs       int     // its size
	Limit       float64 // its time limit in seconds, 0 or less for none or unknown
}

// Config defines how a Model learns. The zero value of a field means its default; the defaults were chosen on the first
// halves of KTH-SP2, SDSC-SP2 and SDSC-Par-96.
type Config struct {
	// Runs is how many of a user's latest runs in a queue are kept, 48 by default; Users of how many users and queues,
	// 8192 by default: of those with no running job, the ones that ended one least recently are forgotten.
	Runs, Users int
	// Classes is how many classes (queue, limit) are kept beside that of all jobs, 2048 by default, at least 16.
	Classes int
	// Memory is how many jobs a class remembers: each one that ends makes the earlier ones lighter by 1/Memory; 2000 by
	// default.
	Memory float64
	// Recency is by how much each run of a user is lighter than the one after it, in (0, 1]; .85 by default.
	Recency float64
	// Prior is how many runs the law of the job's class weighs against the user's own, .7 by default; Parent how many
	// that of the class around it weighs against a class, 10 by default.
	Prior, Parent float64
	// Width is the scale of the kernel (Laplace's) in ln t, .2 by default; Sharp the part of a run's weight that stays
	// where it is, .7 by default.
	Width, Sharp float64
	// SameApp, SameLimit and SameSize are by how much a run of the same executable, limit or size weighs more than one
	// of another; 3, 6 and 4 by default.
	SameApp, SameLimit, SameSize float64
}

func (c Config) withDefaults() Config {
	count := func(v *int, to int) {
		if *v <= 0 {
			*v = to
		}
	}
	positive := func(v *float64, to float64) {
		if !(*v > 0) || math.IsInf(*v, 1) {
			*v = to
		}
	}
	count(&c.Runs, 48)
	count(&c.Users, 8192)
	count(&c.Classes, 2048)
	positive(&c.Memory, 2000)
	positive(&c.Recency, .85)
	positive(&c.Prior, .7)
	positive(&c.Parent, 10)
	positive(&c.Width, .2)
	positive(&c.Sharp, .7)
	positive(&c.SameApp, 3)
	positive(&c.SameLimit, 6)
	positive(&c.SameSize, 4)
	c.Classes, c.Memory = max(16, c.Classes), max(1, c.Memory)
	// Within these bounds no weight vanishes against another in float64.
	c.Memory, c.Prior, c.Parent = min(c.Memory, mostWeight), bound(c.Prior), bound(c.Parent)
	c.Width, c.SameApp = bound(c.Width), bound(c.SameApp)
	c.SameLimit, c.SameSize = max(1, bound(c.SameLimit)), max(1, bound(c.SameSize))
	c.Recency, c.Sharp = min(1, c.Recency), min(1, c.Sharp)
	return c
}

// run is one run of a user; a running one's seconds are its start.
type run struct {
	seconds, limit      float64
	app                 uint64
	procs               int
	x, lnLimit, lnProcs float64 // in cells, ln seconds and ln processors: worked out once
}

func (j Job) run(seconds float64) run {
	r := run{seconds: seconds, limit: j.Limit, app: hash(j.App), procs: j.Procs}
	r.prepare()
	return r
}

func (r *run) prepare() {
	r.x = math.Log(max(1, r.seconds)) * perUnit
	if r.limit > 0 {
		r.lnLimit = math.Log(r.limit)
	}
	if r.procs > 0 {
		r.lnProcs = math.Log(float64(r.procs))
	}
}

// mostWeight is the most that a class can weigh, in runs.
const mostWeight = 1e6

func bound(v float64) float64 { return max(1e-3, min(v, 1e6)) }

// userKey is a user in a queue.
type userKey struct{ queue, user string }

// history is what is known of a user in a queue.
type history struct {
	runs    []run // the latest last
	running map[int64]run
	used    uint64 // the count of ended jobs when one of its own last ended, 0 before
}

// running is a job that was started and has not ended.
type running struct {
	job   Job
	start float64
	since [kinds]uint64 // by class: the jobs of it that had ended when it started
}

// Model learns laws from jobs that start and end. It is for one goroutine; the laws that it gives are for any.
type Model struct {
	config  Config
	users   map[userKey]*history
	classes map[classKey]*class
	open    map[int64]running
	ended   uint64
	scratch [Bins]float64
	pmf     [Bins]float64
	// reached and outlived count the jobs that reached their limit, and those that ran on for more than a tenth of
	// grace.
	reached, outlived float64
}

// New returns a Model that knows nothing.
func New(config Config) *Model {
	return &Model{
		config: config.withDefaults(), users: map[userKey]*history{}, classes: map[classKey]*class{},
		open: map[int64]running{},
	}
}

// Running returns the number of jobs that were started and have not ended.
func (m *Model) Running() int { return len(m.open) }

// Started records that a job started. An id that runs already starts again.
func (m *Model) Started(id int64, j Job, at float64) {
	if math.IsNaN(at) || math.IsInf(at, 0) {
		return
	}
	m.Lost(id)
	j = j.clean()
	r := running{job: j, start: at}
	_ = m.user(j)
	for i, c := range m.chain(j) {
		if c != nil {
			r.since[i] = c.n
		}
	}
	m.resume(id, r)
}

// Lost records that a job is not to be learnt from: its end was not seen, or is no evidence. An unknown id is ignored.
func (m *Model) Lost(id int64) {
	r, ok := m.open[id]
	if !ok {
		return
	}
	delete(m.open, id)
	if h := m.users[userKey{r.job.Queue, r.job.User}]; h != nil {
		delete(h.running, id)
	}
	for _, key := range r.job.keys() {
		if c := m.classes[key]; c != nil {
			delete(c.running, id)
		}
	}
}

// Ended records that a job that was started has ended. An unknown id is ignored.
func (m *Model) Ended(id int64, at float64) {
	r, ok := m.open[id]
	if !ok {
		return
	}
	m.Lost(id)
	if seconds := at - r.start; seconds >= 0 && !math.IsInf(seconds, 1) {
		m.observe(r.job, at, min(seconds, longest), &r.since)
	}
}

// Observe learns from a run of the given seconds that ended at an instant, also if Started was not called for it. What
// is not a number, or less than 0, is ignored.
func (m *Model) Observe(j Job, at, seconds float64) {
	if !(seconds >= 0) || math.IsInf(seconds, 1) || math.IsNaN(at) || math.IsInf(at, 0) {
		return
	}
	m.observe(j.clean(), at, min(seconds, longest), nil)
}

// observe learns a run; since is the running job's, nil if it was not seen to start.
func (m *Model) observe(j Job, now, seconds float64, since *[kinds]uint64) {
	m.ended++
	r := j.run(seconds)
	i := cell(seconds)
	if r.killed() {
		i = min(i+pastLimit, Bins-1)
	}
	if j.Limit > 0 && seconds >= j.Limit {
		const keep = 1 - 1./1000
		m.reached = keep*m.reached + 1
		m.outlived *= keep
		if seconds > j.Limit+grace/10 {
			m.outlived++
		}
	}
	for k, c := range m.chain(j) {
		if c == nil {
			continue
		}
		from := c.n
		if since != nil {
			from = since[k]
		}
		at := i
		if k == kindRatio {
			at = r.ratio()
		}
		c.add(at, from, m.config.Memory, m.ended)
		if c.due() {
			c.refresh(now, m.config.Memory)
		}
	}
	h := m.user(j)
	if n := len(h.runs); n >= m.config.Runs {
		h.runs = append(h.runs[:0], h.runs[n-m.config.Runs+1:]...)
	}
	h.runs = append(h.runs, r)
	h.used = m.ended
}

// outlive returns the share of the jobs that reach their limit and live on; one in fifty as long as none has reached
// it.
func (m *Model) outlive() float64 {
	return max(1e-3, min(.9, (m.outlived+.1)/(m.reached+5)))
}

// clean returns the job with what makes no sense taken out.
func (j Job) clean() Job {
	if !(j.Limit > 0 && j.Limit <= longest) {
		j.Limit = 0
	}
	return j
}

// hash returns a name's FNV-1a hash, 0 for no name.
func hash(name string) uint64 {
	if name == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum64()
}

// user returns the history of the job's user in its queue, a new one where there is none.
func (m *Model) user(j Job) *history {
	key := userKey{j.Queue, j.User}
	h := m.users[key]
	if h == nil {
		if len(m.users) >= m.config.Users {
			forget(m.users, func(h *history) (uint64, bool) { return h.used, len(h.running) > 0 })
		}
		h = &history{running: map[int64]run{}}
		m.users[key] = h
	}
	return h
}
