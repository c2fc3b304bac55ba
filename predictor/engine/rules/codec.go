package rules

import (
	"maps"
	"math"
	"slices"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/predictor/engine/track"
)

// Code reads or writes a priority, nil for none.
func Code(s *codec.Codec, v **Priority) {
	codec.Optional(s, v, func(p *Priority) {
		s.Finite(&p.LogAge, &p.AgeDays, &p.LogLimit, &p.LogProcs, &p.LogExpected, &p.Own, &p.QueueWait, &p.LogUse,
			&p.Lifetimes, &p.Delay, &p.Capacity)
		s.Flag(&p.Strict)
	})
}

func codeEvidence(s *codec.Codec, v **Evidence) {
	code := func(o *Overtakes) { s.Int(&o.Pairs, &o.Situations, &o.First) }
	codec.Optional(s, v, func(e *Evidence) {
		s.Int(&e.Situations)
		s.Finite(&e.At, &e.Loss, &e.FirstCome)
		code(&e.Same)
		for a := range e.Overtakes {
			code(&e.Overtakes[a].Less)
			code(&e.Overtakes[a].More)
		}
	})
}

// CodeGates reads or writes gates, nil for none.
func CodeGates(s *codec.Codec, v **Gates) {
	codec.Optional(s, v, func(g *Gates) {
		codeClasses(s, &g.classes)
		codeClasses(s, &g.coarse)
	})
}

func codeClasses(s *codec.Codec, all *[track.LimitClasses]*[Slots]bool) {
	for class := range all {
		shut := &all[class]
		some := *shut != nil
		if s.Flag(&some); !some {
			continue
		}
		if s.Reading {
			*shut = &[Slots]bool{}
		}
		for i := range *shut {
			s.Flag(&(*shut)[i])
		}
	}
}

// Code reads or writes a learner of gates.
func (l *GateLearner) Code(s *codec.Codec) {
	s.Finite(&l.next, &l.week)
	s.Flag(&l.begun)
	s.Int(&l.starts)
	for class := range l.classes {
		some := l.classes[class] != nil
		if s.Flag(&some); !some {
			continue
		}
		c := l.of(class)
		for i := range c.Starts {
			s.Finite(&c.Starts[i], &c.Exposure[i])
		}
	}
	CodeGates(s, &l.gates)
	codeSummary(s, &l.summary)
}

func codeSummary(s *codec.Codec, v **GateSummary) {
	codec.Optional(s, v, func(g *GateSummary) {
		s.Int(&g.Starts)
		s.Finite(&g.Exposure)
		codec.List(s, &g.Classes, func(c *GateCounts) {
			s.Int(&c.Class)
			s.Flag(&c.Gate)
			s.Sparse(c.Starts[:])
			s.Sparse(c.Exposure[:])
			if s.Reading && (c.Class < 0 || c.Class >= track.LimitClasses) {
				s.Fail()
			}
		})
	})
}

// Share copies the state of another learner.
func (l *GateLearner) Share(of *GateLearner) {
	*l = *of
	for class, c := range of.classes {
		if c != nil {
			own := *c
			l.classes[class] = &own
		}
	}
}

// Code reads or writes learners. After reading, an interrupted fit starts again.
func (l *Learners) Code(s *codec.Codec) {
	codec.Map(s, &l.pools, func(v **Learner) {
		if s.Reading {
			*v = &Learner{}
		}
		l.code(s, *v)
	})
	ids := slices.Sorted(maps.Keys(l.pending))
	codec.List(s, &ids, func(id *uint64) {
		s.Uint(id)
		p := l.pending[*id]
		if s.Reading {
			p = &pending{Situation: &Situation{}}
			l.pending[*id] = p
		}
		s.Text(&p.pool)
		codeSituation(s, p.Situation)
	})
	if s.Reading && len(l.pools) > mostPools {
		s.Fail()
	}
}

func (l *Learners) code(s *codec.Codec, p *Learner) {
	s.Uint(&p.submitted)
	s.Int(&p.seen, &p.fitted)
	Code(s, &p.Learnt)
	Code(s, &p.Priority)
	codeEvidence(s, &p.Evidence)
	s.Finite(&p.Trial.Situations, &p.Trial.Gain, &p.Trial.Squares)
	codec.List(s, &p.known, func(v **Situation) {
		if s.Reading {
			*v = &Situation{}
		}
		codeSituation(s, *v)
	})
	fits := p.next != nil
	if s.Flag(&fits); !fits {
		return
	}
	f := fitting{}
	if !s.Reading { // the fit may be writing its result
		f.from, f.due, f.unseen, f.gates = p.next.from, p.next.due, p.next.unseen, p.next.gates
	}
	s.Int(&f.from, &f.due, &f.unseen)
	CodeGates(s, &f.gates)
	if !s.Reading || s.Bad {
		return
	}
	if n := len(p.known) - (p.seen - f.from); n < 0 || f.from > p.seen {
		s.Fail()
		return
	}
	l.begin(p, &f)
}

func codeSituation(s *codec.Codec, v *Situation) {
	s.Finite(&v.At, &v.Log)
	s.Int(&v.Capacity)
	codeJob(s, &v.Request)
	codec.List(s, &v.Waiting, func(j *Job) { codeJob(s, j) })
	codec.List(s, &v.Running, func(r *Running) {
		codeProcs(s, &r.Procs)
		codeSingles(s, &r.Age, &r.Expected, &r.Limit)
	})
}

func codeJob(s *codec.Codec, j *Job) {
	codeProcs(s, &j.Procs)
	codec.Number(s, &j.Own)
	codeSingles(s, &j.Limit, &j.Expected, &j.Age, &j.QueueWait, &j.Use)
}

func codeProcs(s *codec.Codec, v *int32) {
	if codec.Number(s, v); s.Reading && *v < 1 {
		s.Fail()
	}
}

// codeSingles reads or writes numbers of at least 0.
func codeSingles(s *codec.Codec, all ...*float32) {
	for _, v := range all {
		x := float64(*v)
		s.Finite(&x)
		if !s.Reading { // a running fit may read them, so they must not be written
			continue
		}
		if *v = float32(x); !(*v >= 0 && *v <= math.MaxFloat32) {
			s.Failf("%v is not from 0", x)
		}
	}
}
