package users

import "math"

// Feedback makes the users of a workload react to the machine (the paper's section 3 proposes it). It changes the
// submit times of jobs within a session. In the log, a job may be submitted after the end of the user's previous job.
// In the simulation it then waits for the end of the previous job, and for the user's think time. So a slow machine
// gets less work and a fast machine more. A job that was submitted before that end follows the previous submission
// after the same time as in the log. Every session begins at the same time as in the log, but not before the last job
// of the user's previous session has been submitted. So delays do not add up over sessions.
//
// The simulation drives the generator. It calls Generator.Peek for the time of the next job, and runs up to that
// instant. It reports every end to Generator.Ended. It takes the job once no event remains before it.
type Feedback struct {
	Gap float64 // seconds between two submissions that end a session; 0 means SessionGap

	// Patience is the maximum number of seconds by which a user submits a job later than in the log. If the previous
	// job ends too late for that, the user returns at the time of day that the job has in the log, on the first day on
	// which this time has not passed yet. 0 means that the user waits.
	Patience float64
}

// sessions returns, for each job of the user, whether the job begins a session.
func (f *Feedback) sessions(p *profile) []bool {
	begins := make([]bool, len(p.Jobs))
	for _, i := range Sessions(p.Jobs, f.Gap) {
		begins[i] = true
	}
	return begins
}

// release returns the time at which a member submits the next job. last is the index of the member's job before it, and
// submitted is the time at which that job was submitted. The result is false if the time depends on the end of that
// job.
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

// Ended records the end of a job of the workload, at an instant that is not before the submission of any job taken so
// far. It does nothing without Feedback, and for jobs for which no user waits.
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
