package forward

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A replica with a probe (which records what a request could take) has a long final phase. It begins once no job ahead
// of the probe waits or will wait. From then on the other waiting jobs do not change the result (see [Surface]), and
// only ends of running jobs matter. This phase is computed without simulation, because arrivals and planned ends would
// take most of the time and change nothing.

// ending is the end of a running job.
type ending struct {
	at    float64
	procs int32
	id    int32
}

// drainBuckets is the number of time intervals in which ends are counted before any are sorted.
const drainBuckets = 1024

// drain is the scratch memory of machine.drain.
type drain struct {
	all, some []ending
	procs     [drainBuckets]int // number of processors of the jobs that end in an interval
	needed    [drainBuckets]bool
}

// drains reports whether no job ahead of the probe waits or will wait, so that only the ends of running jobs matter.
// With nodes, gates, limits, dependencies, moving ranks or changes of the capacity to come it is always false.
func (m *machine) drains() bool {
	c := m.scene
	if m.probe == nil || c.byNode || m.moves() || m.changed < len(m.changes) ||
		len(c.gates)+len(m.limitNow)+len(c.dependencies.need) > 0 {
		return false
	}
	if m.state.Policy.ByRank() && m.next != nil {
		return false // a later arrival may go ahead of the probe
	}
	if at := m.waiting.first(); at >= 0 && at < m.ahead {
		return false
	}
	for _, at := range m.blocked[m.unlocked:] {
		if int(at) < m.ahead {
			return false
		}
	}
	i := m.late.first()
	return i == len(m.late.jobs) || !m.goesBefore(&m.late.jobs[i])
}

// drain records the processors that the probe could take at the ends of running jobs up to the horizon. It may skip
// ends at which the probe could take no more than before.
func (m *machine) drain() {
	d := &m.drained
	d.all, d.some = d.all[:0], d.some[:0]
	first, last := math.Inf(1), 0.
	for i := range m.events {
		t := &m.jobs[m.events[i].ID]
		if t.end > m.horizon {
			continue
		}
		first, last = min(first, t.end), max(last, t.end)
		d.all = append(d.all, ending{t.end, t.procs, m.events[i].ID})
	}
	if len(d.all) == 0 {
		return
	}
	d.choose(m.free, m.probe, first, last)
	slices.SortFunc(d.some, func(a, b ending) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.procs, a.procs), cmp.Compare(a.id, b.id))
	})
	free := m.free
	bucket := intervals(first, last)
	next := 0 // the first interval that is not counted yet
	for i := 0; i < len(d.some); {
		e := &d.some[i]
		for ; next <= bucket(e.at); next++ {
			if !d.needed[next] {
				free += d.procs[next]
			}
		}
		for ; i < len(d.some) && d.some[i].at == e.at; i++ {
			free += int(d.some[i].procs)
		}
		if m.trail.on {
			m.probe.root = m.trail.roots[e.id] // if several jobs end, the largest counts
		}
		m.probe.take(e.at, []stair{{math.Inf(1), free}})
	}
}

// intervals returns a function that gives the number of the interval of an instant. The intervals are equal in the bits
// of the floating-point numbers, and so nearly equal in logarithms.
func intervals(first, last float64) func(at float64) int {
	from := math.Float64bits(first)
	shift := max(0, bits.Len64(math.Float64bits(last)-from)-bits.Len(drainBuckets-1))
	return func(at float64) int {
		return int((math.Float64bits(at) - from) >> shift) //nolint:gosec // below drainBuckets
	}
}

// choose selects the ends in the intervals in which the probe can take more than before.
func (d *drain) choose(free int, probe *envelope, first, last float64) {
	clear(d.procs[:])
	bucket := intervals(first, last)
	for i := range d.all {
		d.procs[bucket(d.all[i].at)] += int(d.all[i].procs)
	}
	least := probe.least()
	for k := range d.procs {
		d.needed[k] = false
		if d.procs[k] == 0 {
			continue
		}
		free += d.procs[k]
		if most := probe.floor(free); most > least {
			d.needed[k], least = true, most
		}
	}
	for i := range d.all {
		if d.needed[bucket(d.all[i].at)] {
			d.some = append(d.some, d.all[i])
		}
	}
}
