package engine

import (
	"cmp"
	"maps"
	"slices"
)

// codeJobs goes through the jobs that wait and run, and counts them again where they are read.
func (e *Engine) codeJobs(s *stream) {
	all := slices.SortedFunc(maps.Values(e.jobs), func(a, b *tracked) int { return cmp.Compare(a.seq, b.seq) })
	list(s, &all, func(v **tracked) {
		if s.reading {
			*v = &tracked{}
		}
		e.codeJob(s, *v)
	})
	if !s.reading {
		ids := make([]uint64, len(e.runningJobs))
		for i, j := range e.runningJobs {
			ids[i] = j.id
		}
		list(s, &ids, func(id *uint64) { s.uint(id) })
		return
	}
	if s.bad {
		return
	}
	for _, j := range all {
		e.recount(s, j)
	}
	var ids []uint64
	list(s, &ids, func(id *uint64) { s.uint(id) })
	counted := 0.0
	seen := map[uint64]bool{}
	for _, id := range ids {
		j := e.jobs[id]
		if j == nil || j.state != running || seen[id] {
			s.fail()
			return
		}
		seen[id] = true
		counted++
		e.runningJobs = append(e.runningJobs, j)
	}
	if counted != e.running.jobs {
		s.fail()
	}
}

func (e *Engine) codeJob(s *stream, j *tracked) {
	at := uint64(j.state)
	s.request(&j.Request)
	s.uint(&j.id, &j.seq, &at)
	s.flag(&j.told)
	s.clear(&j.submit, &j.start, &j.expected)
	s.law(&j.law)
	known := j.given != nil
	if s.flag(&known); known {
		if s.reading {
			j.given = &given{}
		}
		g := j.given
		s.reals(&g.answers)
		list(s, &g.groups, func(name *string) { s.text(name) })
		s.singles(&g.row)
		s.known(&g.said, e.cfg.Levels)
		if len(g.answers) != len(e.cfg.Levels)*experts || len(g.row) != len(e.names) {
			s.fail()
		}
	}
	if !s.reading {
		return
	}
	j.state = state(at)
	if at > uint64(running) || j.Procs < 1 || !(j.expected >= 0 && j.expected <= longest) || !(j.submit >= -farthest && j.submit <= farthest) {
		s.fail()
	}
}

// recount puts a job that was read where it belongs.
func (e *Engine) recount(s *stream, j *tracked) {
	j.size, j.limit = sizeClass(j.Procs), limitClass(j.Limit)
	j.queue, j.user = e.queues[j.Queue], e.users[j.User]
	if j.queue == nil || j.user == nil || e.jobs[j.id] != nil {
		s.fail()
		return
	}
	e.jobs[j.id] = j
	j.queue.live++
	j.user.live++
	if j.state == running {
		e.running.add(j, 1)
		j.queue.running.add(j, 1)
		j.user.running.add(j, 1)
		return
	}
	j.user.waiting.add(j, 1)
	j.user.line.push(j)
	if j.state == waiting {
		e.waiting.add(j, 1)
		j.queue.waiting.add(j, 1)
		e.line.push(j)
		j.queue.line.push(j)
		j.queue.of(j.size).waiting.push(j)
	}
}
