package softlimit

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// leastPercent is the minimum of the garbage before a collection, in percent of the live data.
	leastPercent = 20
	// These bound the CPU time of collections, in cores. Below cheap the percentage falls, and above it rises. From
	// dear on it is the maximum at once.
	cheap, dear = 0.03, 0.06
	// paceInterval is the time between two changes of the percentage.
	paceInterval = time.Second
	// newestPart is the weight of the newest interval in the mean CPU time. Most intervals have no collection or one.
	newestPart = 0.1
)

// Pace lets garbage grow to a percentage of the live data before a collection, until ctx ends. The percentage is at
// most the given one. It falls while collections take next to no CPU time, so that a process with little to do uses
// less memory, and rises as soon as they take more. When ctx ends, the percentage is the given one.
func Pace(ctx context.Context, most int) {
	tick := time.NewTicker(paceInterval)
	defer tick.Stop()
	defer debug.SetGCPercent(most)
	p := pace{most: most, percent: most}
	debug.SetGCPercent(most)
	for before := collecting(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := collecting()
		if p.record((now - before) / paceInterval.Seconds()) {
			debug.SetGCPercent(p.percent)
		}
		before = now
	}
}

// pace is a percentage that follows the cost of collections.
type pace struct {
	most, percent int
	cores         float64 // mean CPU time of collections in the newest intervals, in cores
}

// record records the CPU time of collections in an interval, in cores. It reports whether the percentage changed.
func (p *pace) record(cores float64) bool {
	before := p.percent
	p.cores += newestPart * (cores - p.cores)
	switch {
	case p.cores >= dear:
		p.percent = p.most
	case p.cores >= cheap:
		p.percent = min(p.most, p.percent+1)
	default:
		p.percent = min(p.most, max(leastPercent, p.percent-1))
	}
	return p.percent != before
}

// collecting returns the CPU time of all collections so far in seconds, without that of otherwise idle cores.
func collecting() float64 {
	sample := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(sample)
	return sample[0].Value.Float64() - sample[1].Value.Float64()
}
