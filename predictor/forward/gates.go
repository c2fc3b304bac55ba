package forward

import (
	"math"
)

// Week is the time in seconds after which the flips of a gate repeat.
const Week = 7 * 86400.

// Gate closes a pool to jobs of long limits at times of the week: many sites let long jobs start at night only.
type Gate struct {
	// Over is the time limit, in seconds, above which the gate applies. It applies up to the limit of the next gate.
	// The last gate also applies to jobs without a limit.
	Over float64
	// Shut reports whether jobs of such limits do not start now. Flips are the instants at which Shut changes, in
	// seconds from now: rising, above 0 and up to Week. After that they repeat. Their number is even.
	Shut  bool
	Flips []float64
}

// flip returns the k-th instant at which a gate opens or closes. It returns +Inf for a gate that never does.
func (g *Gate) flip(k int) float64 {
	n := len(g.Flips)
	if n == 0 {
		return math.Inf(1)
	}
	return g.Flips[k%n] + Week*float64(k/n)
}

// weeks returns the number of flips in the whole weeks that fit into a time, which is in seconds. After that many flips
// the gate is in the same state.
func (g *Gate) weeks(time float64) int {
	if len(g.Flips) == 0 || time < Week {
		return 0
	}
	return len(g.Flips) * int(time/Week)
}

// check returns an error if a gate is invalid. i is its index, for the error.
func (g *Gate) check(i int) error {
	rising := true
	for k := 1; k < len(g.Flips); k++ {
		rising = rising && g.Flips[k-1] < g.Flips[k]
	}
	ok := len(g.Flips)%2 == 0 && (len(g.Flips) == 0 || rising && g.Flips[0] > 0 && g.Flips[len(g.Flips)-1] <= Week)
	if !ok {
		return field(false, "gates", i, "flips", float64(len(g.Flips)),
			"an even number of rising instants up to a week")
	}
	return field(g.Over >= 0 && !math.IsInf(g.Over, 1), "gates", i, "over", g.Over, needSeconds)
}

// noGate is the gate of jobs that may always start.
const noGate int8 = -1

// mostGates is the maximum number of gates of a state.
const mostGates = 64

// gateOf returns the index of the gate that applies to a job of a planned runtime, noGate if there is none.
func (s *State) gateOf(plan float64) int8 {
	g := noGate
	for i := range s.Gates {
		if plan > s.Gates[i].Over {
			g = int8(i) //nolint:gosec // at most mostGates
		}
	}
	return g
}

// limitsOf returns the range of the time limits to which a gate applies: above over, up to upTo.
func (s *State) limitsOf(gate int8) (over, upTo float64) {
	upTo = math.Inf(1)
	if gate != noGate {
		over = s.Gates[gate].Over
	}
	if next := int(gate) + 1; next < len(s.Gates) {
		upTo = s.Gates[next].Over
	}
	return over, upTo
}

// gateState is the state of a gate in a replica.
type gateState struct {
	shut   bool
	active bool    // true if the gate applies to a job, so that its flips matter
	next   int     // index of the next flip
	parked []int32 // the positions of the jobs that would compete if the gate were open
}

// prepareGates finds the gates of the waiting jobs, before these are put into the lanes.
func (c *scene) prepareGates() {
	c.gateOf, c.gates = c.gateOf[:0], resize(c.gates, len(c.state.Gates))
	for i := range c.gates {
		c.gates[i] = gateState{shut: c.state.Gates[i].Shut, parked: c.gates[i].parked[:0]}
	}
	if len(c.gates) == 0 {
		return
	}
	for i := range c.state.Waiting {
		gate := c.state.gateOf(c.state.plan(c.state.Waiting[i].Limit))
		if c.gateOf = append(c.gateOf, gate); gate != noGate {
			c.gates[gate].active = true
		}
	}
}

// park sets aside a competing job if its gate is shut, and reports whether it did.
func park(gates []gateState, of []int8, at int) bool {
	if len(gates) == 0 || of[at] == noGate || !gates[of[at]].shut {
		return false
	}
	g := &gates[of[at]]
	g.parked = append(g.parked, int32(at)) //nolint:gosec // one of the jobs that wait
	return true
}

// resetGates resets the gates to the scene's state.
func (m *machine) resetGates() {
	m.gateNow = resize(m.gateNow, len(m.scene.gates))
	m.flips, m.idle = math.Inf(1), 0
	for i := range m.gateNow {
		from := &m.scene.gates[i]
		m.gateNow[i] = gateState{shut: from.shut, active: from.active,
			parked: append(m.gateNow[i].parked[:0], from.parked...)}
		if from.active {
			m.flips = min(m.flips, m.state.Gates[i].flip(0))
		}
	}
}

// isShut reports whether a gate is shut, so that none of its jobs starts now.
func (m *machine) isShut(gate int8) bool { return gate != noGate && m.gateNow[gate].shut }

// flipGates opens and closes the gates that are due.
func (m *machine) flipGates() {
	if m.flips > m.now {
		return
	}
	m.flips = math.Inf(1)
	for i := range m.gateNow {
		g, of := &m.gateNow[i], &m.state.Gates[i]
		for g.active && of.flip(g.next) <= m.now {
			g.next++
			m.turn(int8(i), g) //nolint:gosec // at most mostGates
		}
		if g.active {
			m.flips = min(m.flips, of.flip(g.next))
		}
	}
}

// activate makes the flips of a gate count from now on, because the gate applies to a job.
func (m *machine) activate(gate int8) {
	if gate == noGate || m.gateNow[gate].active {
		return
	}
	g, of := &m.gateNow[gate], &m.state.Gates[gate]
	g.active = true
	g.next += of.weeks(m.now - of.flip(g.next))
	for ; of.flip(g.next) <= m.now; g.next++ {
		g.shut = !g.shut
	}
	m.flips = min(m.flips, of.flip(g.next))
}

// turn opens a shut gate or shuts an open one. The gate's waiting jobs compete again, or are set aside.
func (m *machine) turn(gate int8, g *gateState) {
	g.shut = !g.shut
	if !g.shut {
		for _, at := range g.parked {
			m.waiting.add(&m.layout, int(at))
		}
		g.parked = g.parked[:0]
		return
	}
	for at, of := range m.gateOf {
		if of == gate && m.waiting.has(at) {
			m.waiting.remove(&m.layout, at)
			g.parked = append(g.parked, int32(at)) //nolint:gosec // one of the jobs that wait
		}
	}
}

// idleFlips returns the number of flips in two weeks. If so many flips follow each other without another event, no
// later flip starts a job.
func (m *machine) idleFlips() int {
	n := 0
	for i := range m.state.Gates {
		n += 2 * len(m.state.Gates[i].Flips)
	}
	return n
}

// orFlip returns the time of the next event: at, or the next flip if that is earlier. at is the time of the next event
// other than a flip, +Inf for none. If two weeks of nothing but flips have started no job, no later flip does. Then
// orFlip skips the flips of the whole weeks before at, or returns +Inf if at is +Inf. Without this, jobs without a
// limit, which are planned to run for centuries, would cost too much.
func (m *machine) orFlip(at float64) float64 {
	if at <= m.flips {
		m.idle = 0
		return at
	}
	if m.idle++; m.idle > m.idleFlips() {
		if math.IsInf(at, 1) {
			return at
		}
		m.skipWeeks(at)
	}
	return m.flips
}

// skipWeeks skips the flips of the whole weeks before an instant, or before the next computation of ranks if that is
// earlier.
func (m *machine) skipWeeks(at float64) {
	if m.moves() {
		at = min(at, m.ranks.Next())
	}
	skipped := at - m.flips
	if skipped < Week {
		return
	}
	m.flips = math.Inf(1)
	for i := range m.gateNow {
		if g, of := &m.gateNow[i], &m.state.Gates[i]; g.active {
			g.next += of.weeks(skipped)
			m.flips = min(m.flips, of.flip(g.next))
		}
	}
}
