package track

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job/waittime"
)

// CodeJobs reads or writes the waiting and running jobs. When it reads, it also counts them again. answers and features
// are the numbers of values in the pending forecast of a job.
func (t *Tracker) CodeJobs(s *codec.Codec, answers, features int) {
	all := slices.SortedFunc(maps.Values(t.Jobs), func(a, b *Job) int { return cmp.Compare(a.Number, b.Number) })
	if !codec.Hand(s, &all) {
		codec.List(s, &all, func(v **Job) {
			if s.Reading {
				*v = &Job{}
			}
			t.codeJob(s, *v, answers, features)
		})
	} else if s.Reading {
		all = cloneJobs(all)
	}
	if !s.Reading {
		ids := make([]uint64, len(t.RunningJobs))
		for i, j := range t.RunningJobs {
			ids[i] = j.ID
		}
		codec.List(s, &ids, func(id *uint64) { s.Uint(id) })
		return
	}
	if s.Bad {
		return
	}
	for _, j := range all {
		t.recount(s, j)
	}
	var ids []uint64
	codec.List(s, &ids, func(id *uint64) { s.Uint(id) })
	counted := 0.0
	seen := map[uint64]bool{}
	for _, id := range ids {
		j := t.Jobs[id]
		if j == nil || j.State != Running || seen[id] {
			s.Fail()
			return
		}
		seen[id] = true
		counted++
		t.RunningJobs = append(t.RunningJobs, j)
	}
	if counted != t.Running.Jobs {
		s.Fail()
	}
}

func (t *Tracker) codeJob(s *codec.Codec, j *Job, answers, features int) {
	at := uint64(j.State)
	codeRequest(s, &j.Request)
	s.Uint(&j.ID, &j.Number, &at)
	s.Flag(&j.Observed)
	s.Flag(&j.FactsOnly)
	s.Flag(&j.Hold.Limit)
	s.Finite(&j.Hold.Until)
	s.Text(&j.Hold.After)
	s.Finite(&j.Submit, &j.Start, &j.ExpectedRuntime, &j.Prioritized)
	s.Text(&j.NodeNames)
	CodeLaw(s, &j.Law)
	t.codePending(s, &j.Pending, answers, features)
	if !s.Reading {
		return
	}
	j.State = JobState(at)
	if at > uint64(Running) || j.Procs < 1 || !(j.ExpectedRuntime >= 0 && j.ExpectedRuntime <= waittime.Longest) ||
		!(j.Submit >= -Farthest && j.Submit <= Farthest) {
		s.Fail()
	}
}

// cloneJobs returns copies of jobs that share their laws and forecasts with the originals. The copies are one piece
// of memory, which stays until none of them is needed any more.
func cloneJobs(all []*Job) []*Job {
	clones, out := make([]Job, len(all)), make([]*Job, len(all))
	for i, j := range all {
		clones[i] = *j
		out[i] = &clones[i]
	}
	return out
}

// codePending reads or writes the forecast of a waiting job, which may be nil.
func (t *Tracker) codePending(s *codec.Codec, v **PendingForecast, answers, features int) {
	codec.Optional(s, v, func(g *PendingForecast) {
		s.Reals(&g.Answers)
		codec.List(s, &g.Groups, func(name *string) { s.Text(name) })
		s.Singles(&g.Row)
		CodeKnown(s, &g.Said, t.levels)
		if n := len(g.Answers); n != 0 && n != answers || len(g.Row) != features {
			s.Fail()
		}
	})
}

// recount adds a job that was just read to all lists and sums to which it belongs by its state, queue and user.
func (t *Tracker) recount(s *codec.Codec, j *Job) {
	j.SizeClass, j.LimitClass = SizeClass(j.Procs), LimitClass(j.Limit)
	j.QueueState, j.UserState = t.Queues[j.Queue], t.Users[j.User]
	if j.QueueState == nil || j.UserState == nil || t.Jobs[j.ID] != nil {
		s.Fail()
		return
	}
	t.Jobs[j.ID] = j
	t.name(j)
	j.Bounds = j.boundsIn(t.limits)
	t.keep(j)
	j.QueueState.live++
	j.UserState.live++
	if j.State == Running {
		t.Running.Add(j, 1)
		j.QueueState.Running.Add(j, 1)
		j.UserState.Running.Add(j, 1)
		return
	}
	j.UserState.Waiting.Add(j, 1)
	j.UserState.Line.Push(j)
	if j.State == Waiting {
		t.Waiting.Add(j, 1)
		j.QueueState.Waiting.Add(j, 1)
		t.recountClocks(s, j)
		t.Line.Push(j)
		j.QueueState.Line.Push(j)
		j.QueueState.Of(j.SizeClass).Waiting.Push(j)
	}
}

// recountClocks adds a waiting job that was just read to the counts of the clocks.
func (t *Tracker) recountClocks(s *codec.Codec, j *Job) {
	c, q := t.clocks[j.LimitClass].startCounts, j.QueueState.clock
	if c == nil || q == nil {
		s.Fail()
		return
	}
	c.waiting++
	q.waiting++
}

// CodeEvidence reads or writes the newest starts, the recent submissions and ends, and the clocks.
func (t *Tracker) CodeEvidence(s *codec.Codec) {
	t.Starts.code(s)
	CodeFlow(s, &t.Flow)
	t.clocks.code(s)
}

// CodeQueues reads or writes the queues, without their jobs.
func (t *Tracker) CodeQueues(s *codec.Codec) {
	codec.List(s, &t.InOrder, func(v **Queue) {
		if s.Reading {
			*v = &Queue{}
		}
		q := *v
		s.Text(&q.Name)
		s.Int(&q.Code)
		s.Uint(&q.seen, &q.prioritized)
		s.Finite(&q.NewestPriority)
		CodeRecent(s, &q.Recent)
		codeMean(s, &q.Runtimes)
		codeStartCounts(s, &q.clock)
		for i := range q.similar {
			known := q.similar[i] != nil
			if s.Flag(&known); known {
				codeSimilar(s, &q.similar[i])
			}
		}
		for i := range q.series {
			CodeBounds(s, &q.series[i], t.levels)
		}
		if s.Reading {
			q.Oldest = math.NaN()
			t.Queues[q.Name] = q
		}
	})
	if len(t.Queues) != len(t.InOrder) {
		s.Fail()
	}
}

// CodeUsers reads or writes the users, without their jobs.
func (t *Tracker) CodeUsers(s *codec.Codec) {
	all := slices.SortedFunc(maps.Values(t.Users), func(a, b *user) int { return cmp.Compare(a.Number, b.Number) })
	codec.List(s, &all, func(v **user) {
		if s.Reading {
			*v = &user{}
		}
		u := *v
		s.Text(&u.name)
		s.Uint(&u.seen)
		CodeUser(s, &u.UserFacts)
		if s.Reading {
			u.shard = shardOf(u.name)
			t.Users[u.name] = u
			t.frozen.change(u, len(t.Users))
		}
	})
}
