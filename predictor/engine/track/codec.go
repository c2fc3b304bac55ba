package track

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

func codeMean(s *codec.Codec, all ...*ForgettingMean) {
	for _, m := range all {
		s.Finite(&m.sum, &m.weight)
	}
}

// CodeRecent reads or writes the recent waits of a kind of job.
func CodeRecent(s *codec.Codec, r *RecentWaits) { codeMean(s, &r.Fast, &r.Slow, &r.Nothing) }

// CodeAmount reads or writes an amount.
func CodeAmount(s *codec.Codec, a *Amount) { s.Finite(&a.Jobs, &a.Procs, &a.Work) }

func codeRequest(s *codec.Codec, r *Request) {
	s.Text(&r.Queue, &r.User, &r.App, &r.Partition)
	s.Int(&r.Procs)
	s.Finite(&r.Limit, &r.Priority)
	s.Text(&r.Account, &r.QOS, &r.GPUType)
	s.Int(&r.Nodes, &r.GPUs)
	s.Signed(&r.Memory)
	s.Flag(&r.Whole)
	s.Text(&r.Group, &r.Name, &r.Array, &r.After, &r.Queues)
	s.Int(&r.Throttle, &r.Tasks)
	if s.Reading && r.Procs > 0 && *r != r.Clean() {
		s.Fail()
	}
}

// CodeLaw reads or writes a law of lifetimes.
func CodeLaw(s *codec.Codec, l **Law) {
	if s.Reading {
		*l = &Law{}
	}
	v := *l
	s.Any(&v.limit)
	s.Finite(&v.over, &v.end)
	s.Singles(&v.tail)
	if s.Reading && !(v.limit > math.Inf(-1) && v.end >= 0 && v.end <= knots &&
		len(v.tail) == int(math.Ceil(v.end))+1) {
		s.Fail()
	}
}

// CodeKnown reads or writes one value for each level, or none.
func CodeKnown(s *codec.Codec, v *[]float64, levels []float64) {
	s.Reals(v)
	if !s.Reading {
		return
	}
	if len(*v) == 0 {
		*v = nil
	} else if len(*v) != len(levels) {
		s.Fail()
	}
}

// CodeJobCounts reads or writes the cells that count jobs.
func CodeJobCounts(s *codec.Codec, v **JobCounts) {
	if s.Reading {
		*v = &JobCounts{}
	}
	t := *v
	CodeAmount(s, &t.Total)
	var used []int
	for i := range t.cells {
		for k := range t.cells[i] {
			if t.cells[i][k].Jobs != 0 {
				used = append(used, i*LimitClasses+k)
			}
		}
	}
	codec.List(s, &used, func(n *int) {
		s.Int(n)
		if *n >= SizeClasses*LimitClasses {
			s.Fail()
			return
		}
		CodeAmount(s, &t.cells[*n/LimitClasses][*n%LimitClasses])
	})
}

// CodeQueue reads or writes the frozen facts of a queue.
func CodeQueue(s *codec.Codec, v **QueueFacts, levels []float64) {
	if s.Reading {
		*v = &QueueFacts{}
	}
	q := *v
	s.Text(&q.Name)
	s.Int(&q.Code)
	s.Real(&q.Oldest)
	CodeAmount(s, &q.Running)
	CodeRecent(s, &q.Recent)
	codeMean(s, &q.Runtimes)
	CodeWeekHazard(s, &q.Clock)
	CodeJobCounts(s, &q.WaitingCounts)
	for i := range q.Bounds {
		CodeKnown(s, &q.Bounds[i], levels)
	}
	for i := range q.Sizes {
		there := q.Sizes[i] != nil
		if s.Flag(&there); !there {
			continue
		}
		if s.Reading {
			q.Sizes[i] = &SimilarFacts{}
		}
		m := q.Sizes[i]
		s.Real(&m.Oldest, &m.LastStart, &m.LastWait, &m.Newest.Submit, &m.Newest.Wait)
		CodeRecent(s, &m.Recent)
		s.Int(&m.Learnt)
		s.Reals(&m.Lately)
		codeSizes(s, &m.exact)
	}
}

// CodeBounds reads or writes a history of QBETS, nil for none.
func CodeBounds(s *codec.Codec, b **BoundHistory, levels []float64) {
	known := *b != nil
	if s.Flag(&known); !known {
		return
	}
	var waits []float64
	lengths, misses := make([]int, len(levels)), make([]int, len(levels))
	if !s.Reading {
		waits, lengths, misses = (*b).waits, (*b).lengths(), (*b).misses()
	}
	s.Reals(&waits)
	for i := range levels {
		s.Int(&lengths[i], &misses[i])
	}
	if !s.Reading {
		return
	}
	if *b = newBounds(levels); !(*b).restore(waits, lengths, misses) {
		s.Fail()
	}
}

func codeSimilar(s *codec.Codec, v **SimilarJobs) {
	if s.Reading {
		*v = newSimilar()
	}
	m := *v
	CodeRecent(s, &m.SimilarFacts.Recent)
	s.Real(&m.LastStart, &m.LastWait, &m.Newest.Submit, &m.Newest.Wait)
	s.Int(&m.Learnt, &m.latest.next)
	s.Reals(&m.latest.waits)
	codeSizes(s, &m.exact)
	if s.Reading && (len(m.latest.waits) > latestWaits || m.latest.next > 0 && m.latest.next >= len(m.latest.waits)) {
		s.Fail()
	}
}

// CodeUser reads or writes the facts of a user that do not follow from the jobs.
func CodeUser(s *codec.Codec, u *UserFacts) {
	s.Uint(&u.Number)
	s.Real(&u.LastSubmit)
	codeRequest(s, &u.LastRequest)
	s.Real(&u.LastStart.At, &u.LastStart.Wait)
	CodeRecent(s, &u.Recent)
	u.History.code(s)
	s.Finite(&u.Use.Value, &u.Use.Last)
	codec.List(s, &u.alike, func(a *SimilarStart) {
		s.Int(&a.queue, &a.size)
		s.Real(&a.At, &a.Wait)
	})
	codec.List(s, &u.runtimes, func(r *QueueRuntimes) {
		s.Int(&r.queue)
		codeMean(s, &r.ForgettingMean)
	})
	if s.Reading {
		u.Oldest = math.NaN()
	}
}
