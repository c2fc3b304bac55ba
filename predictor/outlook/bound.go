package outlook

// A job that waits at a horizon waits now, or is held now and becomes eligible by then, or arrives by then. So in every
// future
//
//	waiting at h <= waiting now + eligible by h + arrived by h,
//
// in jobs and in requested work. Therefore each quantile of the left side is at most the present value plus the same
// quantile of the arrivals. The correctors learn both sides separately. bound and boundPoint enforce the inequality
// on the served values.

// arrivalsOf returns the series of arrivals that bounds a series. It returns false for a series without such a bound.
func (s Series) arrivalsOf() (Series, bool) {
	switch s {
	case QueuedWork:
		return ArrivedWork, true
	case QueueLength:
		return ArrivedJobs, true
	}
	return 0, false
}

// known returns the part of a series at a horizon that has been submitted already: the jobs that wait now, and the held
// jobs that become eligible by that horizon.
func (p *player) known(k, scope int, s Series) float64 {
	x := p.initial[scope][s]
	for i := range p.later {
		j := &p.later[i]
		if j.Submit > p.state.Now+p.horizons[k] || scope > 0 && int(j.User) != scope {
			continue
		}
		if s == QueuedWork {
			x += float64(j.Procs) * j.Limit
		} else {
			x++
		}
	}
	return x
}

// bound lowers the quantiles of one horizon and scope to values that the inequality allows, on the scale of each
// series.
func (p *player) bound(k, scope int, rows *[seriesCount]row) {
	for s := range seriesCount {
		arrivals, ok := s.arrivalsOf()
		if !ok {
			continue
		}
		known := p.known(k, scope, s)
		for l := range rows[s].Served {
			most := known + arrivals.unlog(rows[arrivals].Served[l], p.procs)
			rows[s].Served[l] = min(rows[s].Served[l], s.log(most, p.procs))
		}
	}
}

// boundPoint lowers the quantiles of a point to values that the inequality allows, in natural units. After bound, the
// rounding of log and unlog may break the inequality again; after boundPoint it holds exactly.
func (p *player) boundPoint(k, scope int, point *Point) {
	for s := range seriesCount {
		arrivals, ok := s.arrivalsOf()
		if !ok {
			continue
		}
		known, come := p.known(k, scope, s), point.of(arrivals)
		for l, v := range *point.of(s) {
			point.of(s)[l] = min(v, known+come[l]*(point.Horizon/hour))
		}
	}
}
