package users

import "math"

// Feedback makes the users of a workload react to the machine (the paper's section 3 proposes it). It concerns jobs
// within a session. A job that the log has after the end of the job before waits for this end in the simulation, and
// then for the user's think time, so a slow machine gets less work and a fast one more. A job that did not wait for the
// one before follows it after the same time as in the log. Every session begins when it did in the log, but not before
// the last job of the session before has been submitted, so a workload catches up.
//
// The simulation drives the generator: it asks Generator.Peek when the next job is due, runs up to that instant while
// reporting every end to Generator.Ended, and takes the job once nothing happens before it.
type Feedback struct {
	Gap float64 // seconds between two submits that end a session; 0 for SessionGap

	// Patience is how many seconds later than in the log a user submits a job at most. When a job's end comes later
	// than that, he comes back at the time of day at which he submitted it in the log, on the first day that has not
	// passed it. 0: he waits.
	Patience float64
}

// sessions returns for each job of the user whether it begins a session.
func (f *Feedback) sessions(p *profile) []bool {
	begins := make([]bool, len(p.Jobs))
	for _, i := range Sessions(p.Jobs, f.Gap) {
		begins[i] = true
	}
	return begins
}

// release returns the time at which a member submits the next job after the last one. ok is false if that time depends
// on the end of the last job.
func (f *Feedback) release(m *member, last int, submitted float64) (float64, bool) {
	jobs := m.user.Jobs
	own := jobs[m.next].Submit + m.shift
	if m.session[m.next] {
		return max(own, submitted), true
	}
	if think := jobs[m.next].Submit - jobs[last].End(); think >= 0 {
		return 0, false
	}
	return submitted + jobs[m.next].Submit - jobs[last].Submit, true
}

// Ended records the end of a job of the workload, at an instant that is not before any job taken so far. It does
// nothing without Feedback, and for jobs that nobody waits for.
func (g *Generator) Ended(serial int64, at float64) {
	i, ok := g.awaited[serial]
	if !ok {
		return
	}
	delete(g.awaited, serial)
	m := &g.members[i]
	jobs := m.user.Jobs
	release := at + jobs[m.next].Submit - jobs[m.next-1].End()
	own := jobs[m.next].Submit + m.shift
	if p := g.cfg.Feedback.Patience; p > 0 && release > own+p {
		release = own + math.Ceil((release-own)/day)*day
	}
	g.queue.push(due{at: release, number: m.number, member: i})
}
