package residual

import "math"

const (
	// atLimit is the share of a run's limit from which on the run counts as ended by the limit.
	atLimit = .98
	// pastLimit is the number of cells that are added to the lifetime of a run that the limit ended. So its whole
	// weight lies at or beyond the limit in the table.
	pastLimit = 1
	// faint is the weight below which a user's older runs are left out.
	faint = .005
)

// killed reports whether the run counts as ended by the limit, see atLimit.
func (r *run) killed() bool { return r.limit > 0 && r.seconds >= atLimit*r.limit }

// base writes the prior of the widest class. It is a mixture: 99 % is uniform over the cells up to 1e6 s, which most
// logs do not exceed, and 1 % is uniform over all cells.
func base(pmf *[Bins]float64) {
	const wide, usual = .01, 111 // cell 110 contains 1e6 s
	for i := range pmf {
		pmf[i] = wide / Bins
		if i < usual {
			pmf[i] += (1 - wide) / usual
		}
	}
}

// ratio returns the cell of a run in a class of kindRatio. The run must have a limit.
func (r *run) ratio() int {
	i := ratio(r.seconds, r.limit)
	if r.killed() {
		i = max(i, ratioCell) + pastLimit
	}
	return min(i, Bins-1)
}

// Law returns the law of a job's lifetime, from the runs that ended so far and from the ages of the user's running jobs
// at the given instant.
func (m *Model) Law(j Job, at float64) *Law {
	l := new(Law)
	m.LawInto(l, j, at)
	return l
}

// LawInto sets l to the result of Law. It allocates nothing.
func (m *Model) LawInto(l *Law, j Job, at float64) {
	j = j.clean()
	base(&m.pmf)
	weight := m.config.Parent / 5 // weight of the base against all jobs; it keeps every cell possible
	for kind, key := range j.keys() {
		c := m.classes[key]
		switch {
		case c == nil || !j.has(kind):
		case kind == kindRatio:
			c.mixRatio(&m.pmf, weight, j.Limit)
		default:
			c.mixInto(&m.pmf, weight)
		}
		weight = m.config.Parent
	}
	l.Runs = 0
	if h := m.users[userKey{j.Queue, j.User}]; h != nil {
		l.Runs = m.mixRuns(h, j, at)
	}
	sum := 0.0
	for i := Bins - 1; i >= 0; i-- {
		sum += m.pmf[i]
		l.tail[i] = sum
	}
	// Half of the last cell's share lies beyond the table, so that the survival is positive everywhere.
	l.tail[Bins] = m.pmf[Bins-1] / 2
	for i := range l.tail {
		l.tail[i] /= sum
	}
	l.cut(j.Limit, m.outlive())
}

// mixRuns mixes the user's ended and running runs into the prior in m.pmf and returns their weight.
func (m *Model) mixRuns(h *history, j Job, at float64) float64 {
	own := &m.scratch
	clear(own[:])
	var censored [Bins]float64
	total, fade, late := 0.0, 1.0, 0.0
	this := j.run(0)
	for i := len(h.runs) - 1; i >= 0 && fade > faint; i-- {
		r := &h.runs[i]
		w := fade * m.similarity(&this, r)
		fade *= m.config.Recency
		total += w
		switch {
		case !r.killed():
			place(own, r.x, w)
		case j.Limit == 0 || j.Limit > r.limit:
			censored[min(Bins-1, int(r.x))] += w
			late += w
		default:
			place(own, r.x+pastLimit, w)
		}
	}
	m.smooth(own)
	running := m.alive(h, &this, at, &censored)
	total += running
	late += running
	if !(total > 0) {
		return 0
	}
	if late > 0 {
		m.spread(own, &censored)
	}
	share := 1 / (total + m.config.Prior)
	for i, d := range own {
		m.pmf[i] = (m.pmf[i]*m.config.Prior + d) * share
	}
	return total
}

// alive adds the user's running jobs to censored, by age, and returns their weight. Jobs of an age up to 1 s do not
// count. All running jobs together weigh at most as much as one run, because the jobs of a campaign are a single piece
// of evidence.
func (m *Model) alive(h *history, this *run, at float64, censored *[Bins]float64) float64 {
	const unit = 1 << 20 // sums of integers are exact, so that they do not depend on the order of the map
	var units [Bins]float64
	for _, r := range h.running {
		if age := at - r.seconds; age > 1 {
			units[cell(age)] += math.Round(m.similarity(this, &r) / float64(len(h.running)) * unit)
		}
	}
	sum := 0.0
	for i, u := range units {
		censored[i] += u / unit
		sum += u / unit
	}
	return sum
}

// similarity returns the weight of a run for a job by their common properties. It is 1 for the same limit and size.
// Another limit divides it by up to SameLimit, another size by up to SameSize, and the same executable multiplies it by
// SameApp. Different executables do not lower the weight, because in many logs each job has an executable of its own.
func (m *Model) similarity(a, b *run) float64 {
	w := 1.0
	if a.app != 0 && a.app == b.app {
		w *= m.config.SameApp
	}
	if a.limit > 0 && b.limit > 0 {
		w *= near(a.lnLimit-b.lnLimit, m.config.SameLimit)
	}
	if a.procs > 0 && b.procs > 0 {
		w *= near(a.lnProcs-b.lnProcs, m.config.SameSize)
	}
	return w
}

// near returns the weight for two numbers whose logarithms differ by distance. It is 1 for equal numbers, and falls to
// 1/same.
func near(distance, same float64) float64 {
	const scale = .2
	switch d := math.Abs(distance); {
	case d == 0:
		return 1
	case d > 8*scale:
		return 1 / same
	default:
		return (1 + (same-1)*math.Exp(-d/scale)) / same
	}
}

// place adds the weight of a lifetime, which is given in cells, to the two cells whose middles are on either side.
func place(pmf *[Bins]float64, x, w float64) {
	x = max(0, min(x-.5, Bins-1))
	i := int(x)
	part := x - float64(i)
	pmf[i] += w * (1 - part)
	pmf[min(i+1, Bins-1)] += w * part
}

// smooth spreads the weight of each cell, except the share Config.Sharp, with a two-sided geometric kernel. It takes
// two passes, whatever the number of runs.
func (m *Model) smooth(pmf *[Bins]float64) {
	r := math.Exp(-1 / (m.config.Width * perUnit))
	spread := (1 - m.config.Sharp) * (1 - r) / (1 + r)
	var out [Bins]float64
	carry := 0.0
	for i, v := range pmf {
		carry = carry*r + v
		out[i] = m.config.Sharp*v + spread*carry
	}
	carry = 0
	for i := Bins - 1; i >= 0; i-- {
		out[i] += spread * r * carry
		carry = carry*r + pmf[i]
	}
	*pmf = out
}

// spread redistributes censored weight. A lifetime that is only known to exceed a cell is spread over the later
// cells, in proportion to the prior and the runs that ended there (like Efron's redistribution to the right, Proc.
// Fifth Berkeley Symposium 4, 1967).
func (m *Model) spread(own, censored *[Bins]float64) {
	var beyond [Bins]float64 // total weight from each cell on
	sum := 0.0
	for i := Bins - 1; i >= 0; i-- {
		sum += own[i] + m.config.Prior*m.pmf[i]
		beyond[i] = sum
	}
	factor := 0.0
	for i := range own {
		mass := own[i] + m.config.Prior*m.pmf[i]
		own[i] += mass * factor
		if i+1 < Bins && censored[i] > 0 {
			factor += censored[i] / beyond[i+1]
		} else {
			own[i] += censored[i]
		}
	}
}
