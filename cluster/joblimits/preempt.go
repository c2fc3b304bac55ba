package joblimits

import (
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/job"
)

// These are values of Slurm's PreemptType. It decides by which criterion jobs may be preempted.
const (
	byQOS  = "qos"
	byTier = "partition_prio"
)

// MayPreempt reports whether there can be jobs that a job may preempt, by its quality of service or by the tier of its
// queue. With a nil set no job may.
func (s *Set) MayPreempt(a *job.Attributes) bool {
	if s == nil || s.facts.Preemption == nil {
		return false
	}
	switch s.facts.Preemption.By {
	case byQOS:
		r := s.rules[s.qosOf(a)]
		return r != nil && len(r.Preempts) > 0
	case byTier:
		tier := s.tierOf(a.Queue)
		return slices.ContainsFunc(s.facts.Queues, func(q job.QueueFacts) bool { return q.Tier < tier })
	}
	return false
}

// Preempts reports whether a job may preempt another one that has run for the given time. grace is the time for which
// the preempted job still runs.
func (s *Set) Preempts(by, victim *job.Attributes, ran time.Duration) (may bool, grace time.Duration) {
	if !s.MayPreempt(by) {
		return false, 0
	}
	p := s.facts.Preemption
	mode, exempt := strings.Join(p.Modes, ","), p.Exempt
	switch p.By {
	case byQOS:
		own, its := s.rules[s.qosOf(by)], s.qosOf(victim)
		if !slices.ContainsFunc(own.Preempts, func(name string) bool { return fold(name) == its }) {
			return false, 0
		}
		if r := s.rules[its]; r != nil {
			grace = r.GraceTime
			if r.PreemptMode != "" {
				mode = r.PreemptMode
			}
			if r.PreemptExempt > 0 {
				exempt = r.PreemptExempt
			}
		}
	case byTier:
		if s.tierOf(victim.Queue) >= s.tierOf(by.Queue) {
			return false, 0
		}
		if q := s.queue(victim.Queue); q != nil {
			grace = q.GraceTime
			if q.PreemptMode != "" {
				mode = q.PreemptMode
			}
		}
	}
	return freesProcessors(mode) && ran >= exempt, grace
}

// freesProcessors reports whether preempted jobs give their processors back. Under gang scheduling they do not,
// because the jobs take turns.
func freesProcessors(mode string) bool {
	words := strings.FieldsFunc(strings.ToUpper(mode), func(r rune) bool { return r == ',' || r == ' ' })
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "CANCEL" || word == "REQUEUE" || word == "SUSPEND"
	})
}

// queue returns the facts of a queue, nil if the queue is unknown.
func (s *Set) queue(name string) *job.QueueFacts {
	for i := range s.facts.Queues {
		if s.facts.Queues[i].Name == name {
			return &s.facts.Queues[i]
		}
	}
	return nil
}

func (s *Set) tierOf(queue string) int {
	if q := s.queue(queue); q != nil {
		return q.Tier
	}
	return 0
}
