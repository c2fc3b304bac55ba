package residual

import "math"

const (
	// atLimit is the part of its limit from which a run counts as ended by it.
	atLimit = .98
	// pastLimit is by how many cells such a run counts as longer, so that all of it reaches that limit in the table.
	pastLimit = 1
	// faint is the weight from which on a user's older runs are left out.
	faint = .005
)

// killed reports whether the run was ended by its limit.
func (r *run) killed() bool { return r.limit > 0 && r.seconds >= atLimit*r.limit }

// base is the prior of all priors: uniform over the cells up to 1e6 s (where most logs end), a hundredth of it over
// all.
func base(pmf *[Bins]float64) {
	const wide, usual = .01, 111 // cell 110 holds 1e6 s
	for i := range pmf {
		pmf[i] = wide / Bins
		if i < usual {
			pmf[i] += (1 - wide) / usual
		}
	}
}

// ratio returns the run's cell in a class by ratio.
func (r *run) ratio() int {
	i := ratio(r.seconds, r.limit)
	if r.killed() {
		i = max(i, ratioCell) + pastLimit
	}
	return min(i, Bins-1)
}

// Law returns the law of a job's lifetime by what is known at an instant.
func (m *Model) Law(j Job, at float64) *Law {
	l := new(Law)
	m.LawInto(l, j, at)
	return l
}

// LawInto is Law into memory of the caller; it allocates nothing.
func (m *Model) LawInto(l *Law, j Job, at float64) {
	j = j.clean()
	base(&m.pmf)
	weight := m.config.Parent / 5 // that of the base against all jobs: it keeps every cell possible
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
	// The last cell keeps half of its share as the mass beyond the table, so that the survival is positive everywhere.
	l.tail[Bins] = m.pmf[Bins-1] / 2
	for i := range l.tail {
		l.tail[i] /= sum
	}
	l.cut(j.Limit, m.outlive())
}

// mixRuns mixes the user's runs into the prior in m.pmf and returns their weight.
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

// alive adds the user's running jobs to what is censored, by age, and returns their weight. All that run together count
// as one run: a campaign is one piece of evidence.
func (m *Model) alive(h *history, this *run, at float64, censored *[Bins]float64) float64 {
	const unit = 1 << 20 // sums of whole units are exact and do not depend on the map's order
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

// similarity returns the weight of a run for a job by their common properties: 1 for the same limit and size. Another
// executable does not make it lighter, since many logs number each job's own.
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

// near is 1 for equal numbers and falls to 1/same with their distance in ln.
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

// place puts the weight of a lifetime, in cells, into the two cells whose middles lie around it.
func place(pmf *[Bins]float64, x, w float64) {
	x = max(0, min(x-.5, Bins-1))
	i := int(x)
	part := x - float64(i)
	pmf[i] += w * (1 - part)
	pmf[min(i+1, Bins-1)] += w * part
}

// smooth spreads each cell's weight, but for the sharp part of it, by a two-sided geometric kernel: two passes,
// whatever the number of runs.
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

// spread moves the weight of what is only known to have lived through a cell to what lies beyond: by the prior and the
// runs that ended there (as Efron's redistribution to the right does, Proc. Fifth Berkeley Symposium 4, 1967).
func (m *Model) spread(own, censored *[Bins]float64) {
	var beyond [Bins]float64 // weight of all from each cell on
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
