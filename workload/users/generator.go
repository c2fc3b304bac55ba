package users

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
)

// Config defines the workload.
type Config struct {
	Seed   uint64  // the same seed, sources and settings give the same workload
	Length float64 // length in seconds; 0 means the length of the first source's log, +Inf means no end
	Load   float64 // factor on the number of users, and so on the average load; 0 means 1

	// Stationary starts each long-term user at any week of the user's cycle, including the weeks without activity. So
	// as many users are active at the beginning as later. The paper starts all users within their activity, so that
	// the beginning is busier than the rest.
	Stationary bool

	// RarePerWeek is the mean number per week of new temporary users that come from the rare pool: the paper's
	// RB_NPW. It is at most the rate at which temporary users come.
	RarePerWeek float64

	// Weight, if set, returns the relative weight with which a user is selected, at least 0. The numbers of users do
	// not change. It biases the workload towards a class of users (the paper's section 6.5.4).
	Weight func(*User) float64

	// Feedback, if set, makes the users wait for their jobs; see Generator.Ended.
	Feedback *Feedback
}

// Source is a log to resample from.
type Source struct {
	Pools *Pools
	// factor on the number of long-term users, in addition to Config.Load; 0 means 1, a negative value means none
	LongTerm  float64
	Temporary float64             // factor on the number of temporary users, like LongTerm
	Procs     func(procs int) int // if set, changes the sizes of the jobs so that they fit the machine of the workload
}

// Arrival is one job of a resampled workload.
type Arrival struct {
	// Submit is in the time of the first source, User is the number of the member, from 1, and Wait is not set.
	Job
	Serial   int64 // number of the job, counted from 1
	Source   int   // index of the source of the job
	Original *User // user of the original job
}

// Generator returns the jobs of a resampled workload in order of submission. Only one goroutine may use it.
type Generator struct {
	cfg        Config
	rng        *rand.Rand
	origin     float64 // beginning of week 0
	until      float64
	crowds     []crowd // by source
	weekly     float64 // number of temporary users per week, over all sources
	rare       []*profile
	week       int // next week whose temporary users must be admitted
	members    []member
	unused     []int32 // indexes of members that have submitted all their jobs
	queue      queue
	memberSeq  int64
	serial     int64
	awaited    map[int64]int32 // for the serial number of a job, the member that waits for the job's end
	lastSubmit float64
}

// NewGenerator returns a generator of a workload made from one log, or mixed from several. Each log has its own pool
// of long-term users, and temporary users that come at its own rate. Weeks are the weeks of the first source. With
// Pools.Monday, the jobs of the other logs keep their weekday and time of day. The error names the invalid setting.
func NewGenerator(cfg Config, sources ...Source) (*Generator, error) {
	if err := cfg.defaults(sources); err != nil {
		return nil, fmt.Errorf("resample: %w", err)
	}
	first := sources[0].Pools
	g := &Generator{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x7a616b6179)), origin: first.Start,
		until: first.Start + cfg.Length, awaited: map[int64]int32{}, lastSubmit: math.Inf(-1),
	}
	for i := range sources {
		c, err := newCrowd(i, sources[i], first, cfg)
		if err != nil {
			return nil, fmt.Errorf("resample %q: %w", sources[i].Pools.Name, err)
		}
		g.crowds = append(g.crowds, c)
		g.weekly += c.weekly
		g.rare = append(g.rare, c.rare...)
	}
	switch {
	case cfg.RarePerWeek > 0 && total(g.rare) == 0:
		return nil, errors.New("resample: RarePerWeek is set, but no source has a rare behavior; see Options.Rare")
	case cfg.RarePerWeek > g.weekly:
		return nil, fmt.Errorf("resample: %v rare behaviors per week are more than the %.3g temporary users",
			cfg.RarePerWeek, g.weekly)
	}
	for i := range g.crowds {
		g.populate(&g.crowds[i])
	}
	g.week = 1
	if g.memberSeq == 0 && g.weekly == 0 {
		return nil, fmt.Errorf("resample %q: %w: no long-term user was selected and no temporary one comes",
			first.Name, ErrNoJobs)
	}
	return g, nil
}

func (c *Config) defaults(sources []Source) error {
	if len(sources) == 0 {
		return errors.New("no source")
	}
	for i := range sources {
		if sources[i].Pools == nil {
			return fmt.Errorf("source %d has no pools", i)
		}
	}
	if c.Load == 0 {
		c.Load = 1
	}
	if c.Length == 0 {
		c.Length = sources[0].Pools.End - sources[0].Pools.Start
	}
	switch {
	case !(c.Load > 0) || math.IsInf(c.Load, 1):
		return fmt.Errorf("load factor %v; want a number above 0", c.Load)
	case !(c.Length > 0):
		return fmt.Errorf("length %v s; want more than 0", c.Length)
	case !(c.RarePerWeek >= 0):
		return fmt.Errorf("%v rare behaviors per week; want 0 or more", c.RarePerWeek)
	}
	return nil
}

// Peek returns the time at which the next job is submitted. It returns +Inf if there is none before the end of the
// workload. With Feedback, a call of Ended may make the next job earlier.
func (g *Generator) Peek() float64 {
	for {
		boundary := g.origin + float64(g.week)*week
		if len(g.queue) > 0 && g.queue[0].at < boundary {
			break
		}
		if boundary >= g.until || g.weekly == 0 {
			break
		}
		g.admit()
	}
	if len(g.queue) == 0 || g.queue[0].at >= g.until {
		return math.Inf(1)
	}
	return g.queue[0].at
}

// Next returns the next job. It returns false if there is none; see Peek.
func (g *Generator) Next() (Arrival, bool) {
	at := g.Peek()
	if math.IsInf(at, 1) {
		return Arrival{}, false
	}
	i := g.queue[0].member
	m := &g.members[i]
	g.serial++
	g.lastSubmit = max(g.lastSubmit, at)
	a := Arrival{Job: m.user.Jobs[m.next], Serial: g.serial, Source: m.source, Original: m.user.User}
	a.Submit, a.User, a.Wait = g.lastSubmit, m.number, -1
	if fit := g.crowds[m.source].fit; fit != nil {
		a.Procs = max(1, fit(a.Procs))
	}
	g.advance(i, a.Submit)
	return a, true
}

// All returns the remaining jobs.
func (g *Generator) All() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		for {
			a, ok := g.Next()
			if !ok || !yield(a) {
				return
			}
		}
	}
}

// advance moves the member at the head of the queue, which has the index i, to the member's next job. The member leaves
// the queue if there is no next job, or until the end of the last job if the next submit time depends on that end.
func (g *Generator) advance(i int32, submitted float64) {
	m := &g.members[i]
	last := m.next
	m.next++
	if m.next == len(m.user.Jobs) {
		if m.user.cycle == 0 {
			g.queue.pop()
			g.unused = append(g.unused, i)
			return
		}
		m.next = 0
		m.shift += float64(m.user.cycle) * week
	}
	at := m.user.Jobs[m.next].Submit + m.shift
	if f := g.cfg.Feedback; f != nil {
		var known bool
		if at, known = f.release(m, last, submitted); !known {
			g.queue.pop()
			g.awaited[g.serial] = i
			return
		}
	}
	g.queue.replace(at)
}

// A member is a simulated user of the workload.
type member struct {
	user    *profile
	number  int64
	source  int
	next    int     // index of the next job
	shift   float64 // seconds added to the submit times of the log
	session []bool  // with feedback: whether each job begins a session
}

// join adds a user to the workload, in the week with the number at. From that week on the user does what the original
// user did from week logWeek of the log on.
func (g *Generator) join(p *profile, source, at, logWeek int) {
	m := member{user: p, source: source}
	shift := at - logWeek
	if logWeek > p.lastWeek {
		shift += p.cycle // the time between two passes
	} else {
		m.next = p.firstFrom(g.origin + float64(logWeek)*week)
	}
	m.shift = p.offset + float64(shift)*week
	g.memberSeq++
	m.number = g.memberSeq
	if f := g.cfg.Feedback; f != nil {
		m.session = f.sessions(p)
	}
	var i int32
	if n := len(g.unused); n > 0 {
		i = g.unused[n-1]
		g.unused = g.unused[:n-1]
		g.members[i] = m
	} else {
		i = int32(len(g.members))
		g.members = append(g.members, m)
	}
	g.queue.push(due{at: p.Jobs[m.next].Submit + m.shift, number: m.number, member: i})
}
