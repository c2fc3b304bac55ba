package residual

import (
	"hash/fnv"
	"math"
)

// longest is the maximum of limits and runs, in seconds. Longer runs count as this.
const longest = 1e12

// Job has the attributes of a job at its start.
type Job struct {
	Queue, User string
	App         string  // its name or executable; empty if the log has none
	Procs       int     // its size
	Limit       float64 // its time limit in seconds, 0 or less for none or unknown
}

// Config defines how a Model learns. The zero value of a field means its default. The defaults were chosen on the
// first halves of KTH-SP2, SDSC-SP2 and SDSC-Par-96.
type Config struct {
	// Runs is the maximum number of kept runs of a user in a queue, 48 by default. Users is the maximum number of
	// pairs of a user and a queue, 8192 by default. Pairs with a running job are kept; of the others, those whose
	// last end is oldest are forgotten.
	Runs, Users int
	// QueuesOfUser is the maximum number of queues of a user whose runs are kept, 64 by default. So a user with more
	// queues loses their own runs, not those of others.
	QueuesOfUser int
	// Classes is the maximum number of classes of jobs (see the package comment). It is 2048 by default, and at least
	// 16. Classes with a running job are kept, if need be beyond the maximum.
	Classes int
	// Memory is the memory of a class in jobs, 2000 by default. Each end reduces the weight of the earlier ends by the
	// share 1/Memory (approximately).
	Memory float64
	// Recency is the weight of each run of a user relative to the user's next later run, in (0, 1]; 0.85 by default.
	Recency float64
	// Prior is the weight of the law of the job's class relative to the user's own runs, as a number of runs; 0.7 by
	// default. Parent is the weight of the enclosing class relative to a class, 10 by default.
	Prior, Parent float64
	// Width is the scale of the kernel (Laplace's) in ln t, 0.2 by default. Sharp is the part of a run's weight that
	// is not smoothed, 0.7 by default.
	Width, Sharp float64
	// SameApp, SameLimit and SameSize are the factors by which a run of the same executable, limit or size has more
	// weight than others. They are 3, 6 and 4 by default.
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
	count(&c.QueuesOfUser, 64)
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
	// Within these bounds no weight in a sum is lost by rounding in float64.
	c.Memory, c.Prior, c.Parent = min(c.Memory, mostWeight), bound(c.Prior), bound(c.Parent)
	c.Width, c.SameApp = bound(c.Width), bound(c.SameApp)
	c.SameLimit, c.SameSize = max(1, bound(c.SameLimit)), max(1, bound(c.SameSize))
	c.Recency, c.Sharp = min(1, c.Recency), min(1, c.Sharp)
	return c
}

// run is one run of a user. For a job that still runs, seconds is the instant of its start.
type run struct {
	seconds, limit      float64
	app                 uint64
	procs               int
	x, lnLimit, lnProcs float64 // computed once: lifetime in cells, ln of the limit in seconds, ln of the processors
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

// mostWeight is the maximum weight of a class, in runs.
const mostWeight = 1e6

func bound(v float64) float64 { return max(1e-3, min(v, 1e6)) }

// userKey identifies a user in a queue.
type userKey struct{ queue, user string }

// history has the runs of a user in a queue.
type history struct {
	runs    []run // the latest is last
	running map[int64]run
	used    uint64  // the model's count of ended jobs when one of the user's jobs last ended, 0 before
	seen    float64 // instant at which one of the user's jobs last started or ended
}

// running is a job that was started and has not ended.
type running struct {
	job   Job
	start float64
	since [kinds]uint64 // by class: the number of its jobs that had ended when this one started
}

// Model learns laws from jobs that start and end. It is not safe for concurrent use, but its laws are.
type Model struct {
	config  Config
	users   map[userKey]*history
	queues  map[string]int // by user: number of queues with runs
	classes map[classKey]*class
	open    map[int64]running
	ended   uint64
	scratch [Bins]float64
	pmf     [Bins]float64
	// reached is the number of jobs that reached their limit. outlived is the number of those that ran on for more than
	// a tenth of grace. Each job that reaches its limit first reduces both by a thousandth.
	reached, outlived float64
	// forgotten counts the removed entries. It is not saved.
	forgotten Forgotten
}

// Forgotten counts the entries that a Model has forgotten since it was made or restored.
type Forgotten struct {
	// HistoriesForRoom and ClassesForRoom count entries that were removed to make room for others. A history has the
	// runs of a user in a queue.
	HistoriesForRoom, ClassesForRoom int
	// HistoriesByAge and ClassesByAge count entries that were not seen for too long, see Model.Forget.
	HistoriesByAge, ClassesByAge int
}

// New returns a new Model.
func New(config Config) *Model {
	return &Model{
		config: config.withDefaults(), users: map[userKey]*history{}, queues: map[string]int{},
		classes: map[classKey]*class{}, open: map[int64]running{},
	}
}

// Running returns the number of jobs that were started and have not ended.
func (m *Model) Running() int { return len(m.open) }

// Started records that a job started. If a job with this id runs already, it starts again.
func (m *Model) Started(id int64, j Job, at float64) {
	if math.IsNaN(at) || math.IsInf(at, 0) {
		return
	}
	m.Lost(id)
	j = j.clean()
	r := running{job: j, start: at}
	_ = m.user(j, at)
	for i, c := range m.chain(j, at) {
		if c != nil {
			r.since[i] = c.n
		}
	}
	m.resume(id, r)
}

// Lost records that nothing is to be learnt from a job, because its end was not seen or is no evidence. An unknown id
// is ignored.
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

// Ended records that a started job has ended. An unknown id is ignored. From an end before the start nothing is learnt.
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

// Observe learns from a run of the given seconds that ended at an instant, even if Started was not called for it. A run
// of negative seconds, and values that are not finite, are ignored.
func (m *Model) Observe(j Job, at, seconds float64) {
	if !(seconds >= 0) || math.IsInf(seconds, 1) || math.IsNaN(at) || math.IsInf(at, 0) {
		return
	}
	m.observe(j.clean(), at, min(seconds, longest), nil)
}

// observe learns a run. The parameter since has, by class, the numbers of jobs that had ended when the run started. It
// is nil if the start was not observed.
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
	for k, c := range m.chain(j, now) {
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
	h := m.user(j, now)
	if n := len(h.runs); n >= m.config.Runs {
		h.runs = append(h.runs[:0], h.runs[n-m.config.Runs+1:]...)
	}
	h.runs = append(h.runs, r)
	h.used = m.ended
}

// outlive returns the share of jobs that live on, among those that reach their limit. It is 1/50 until a job has
// reached its limit.
func (m *Model) outlive() float64 {
	return max(1e-3, min(.9, (m.outlived+.1)/(m.reached+5)))
}

// clean returns the job with a valid limit: one that is 0 or less, NaN or above longest becomes 0.
func (j Job) clean() Job {
	if !(j.Limit > 0 && j.Limit <= longest) {
		j.Limit = 0
	}
	return j
}

// hash returns a name's FNV-1a hash, 0 for the empty name.
func hash(name string) uint64 {
	if name == "" {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never returns an error
	return h.Sum64()
}

// user returns the history of the job's user in its queue. It creates a missing one, for which it may have to remove
// others. If the history was not used later, the given instant becomes the time of its last use.
func (m *Model) user(j Job, at float64) *history {
	key := userKey{j.Queue, j.User}
	h := m.users[key]
	if h == nil {
		m.makeRoom(j.User)
		h = &history{running: map[int64]run{}, seen: at}
		m.users[key] = h
		m.queues[j.User]++
	}
	h.seen = max(h.seen, at)
	return h
}

// makeRoom removes histories if the user has runs in too many queues, or if there are too many histories.
func (m *Model) makeRoom(user string) {
	before := len(m.users)
	if user != "" && m.queues[user] >= m.config.QueuesOfUser { // jobs of unknown users do not belong to one user
		own := map[userKey]*history{}
		for key, h := range m.users {
			if key.user == user {
				own[key] = h
			}
		}
		forget(own, histories, func(key userKey) { m.drop(key) })
	}
	if len(m.users) >= m.config.Users {
		forget(m.users, histories, func(key userKey) { m.drop(key) })
	}
	m.forgotten.HistoriesForRoom += before - len(m.users)
}

// histories returns the model's count of ended jobs when a job of the history last ended, and whether the history must
// be kept because a job runs.
func histories(h *history) (used uint64, stays bool) { return h.used, len(h.running) > 0 }

// drop deletes a history.
func (m *Model) drop(key userKey) {
	delete(m.users, key)
	if m.queues[key.user]--; m.queues[key.user] == 0 {
		delete(m.queues, key.user)
	}
}

// Forget deletes the histories and classes that have no running job, and in which no job has started or ended at the
// given instant or later.
func (m *Model) Forget(before float64) {
	for key, h := range m.users {
		if h.seen < before && len(h.running) == 0 {
			m.drop(key)
			m.forgotten.HistoriesByAge++
		}
	}
	for key, c := range m.classes {
		if c.seen < before && len(c.running) == 0 {
			delete(m.classes, key)
			m.forgotten.ClassesByAge++
		}
	}
}

// Forgotten returns the numbers of forgotten histories and classes.
func (m *Model) Forgotten() Forgotten { return m.forgotten }

// Remembered returns the numbers of histories and of classes. A history has the runs of a user in a queue.
func (m *Model) Remembered() (histories, classes int) { return len(m.users), len(m.classes) }
