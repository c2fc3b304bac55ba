// Package drift notices that a stream of losses, or of anything else, has changed its level: after a downtime, with new
// limits or partitions, what was learnt before is worth less.
//
// It is a two-sided cumulative sum of the standardized means of blocks (E. S. Page, "Continuous inspection schemes",
// Biometrika 41, 1954): jobs that wait together lose together, so single values would alarm at every burst. The level
// and the spread that the sum is measured against are running ones; while the sum stands high they learn nothing, so
// that a slow change is not swallowed.
package drift

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

// Config defines how sensitive a Detector is. The zero value of a field means its default.
type Config struct {
	// Block is how many values make a block, 100 by default.
	Block int
	// Memory is over how many blocks the level and the spread look back, 150 by default; before half of them there is
	// no alarm.
	Memory float64
	// Slack is the change that is let pass, in deviations of a block's mean, .5 by default; Height the sum at which it
	// is an alarm, 10 by default. If blocks were independent and normal there would be a false alarm to either side
	// once in about (exp(2 s b) - 2 s b - 1)/(2 s^2) blocks, b = h + 1.166 (D. Siegmund, "Sequential Analysis", 1985,
	// equation 2.57): 141,000.
	Slack, Height float64
}

func (c Config) withDefaults() Config {
	if c.Block <= 0 {
		c.Block = 100
	}
	for _, f := range [...]struct {
		v  *float64
		to float64
	}{{&c.Memory, 150}, {&c.Slack, .5}, {&c.Height, 10}} {
		if !(*f.v > 0) {
			*f.v = f.to
		}
	}
	return c
}

// Change is the effect of a value.
type Change int8

// The changes.
const (
	None Change = 0
	Up   Change = 1
	Down Change = -1
)

// Detector follows one stream. It is not safe for concurrent use.
type Detector struct {
	cfg Config
	s   state
}

// state is all that is saved.
type state struct {
	Sum, N       float64 // of the open block
	Mean, Square float64 // of the means of blocks, and of their squared distances
	Blocks       float64 // how many they rest on, up to the memory
	High, Low    float64 // the sums
	Alarms       uint64

	HighFor, LowFor float64 // blocks since each sum rose from 0
	Began           float64 // values since the newest change is thought to have begun, when it was noticed
}

// New returns a Detector that has seen nothing.
func New(cfg Config) *Detector { return &Detector{cfg: cfg.withDefaults()} }

// Alarms returns how many changes there were.
func (d *Detector) Alarms() int { return int(d.s.Alarms) }

// Began returns how many values before the newest change was noticed it is thought to have begun: when the sum that
// showed it last rose from 0 (Page 1954). It is 0 before there is one.
func (d *Detector) Began() int { return int(d.s.Began) }

// Level returns the running mean that new values are held against; false before there is one.
func (d *Detector) Level() (float64, bool) { return d.s.Mean, d.s.Blocks > 0 }

// Add adds a value and reports whether the level has changed. After a change the level is learnt from scratch. Values
// that are not finite are ignored.
func (d *Detector) Add(v float64) Change {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
	}
	s := &d.s
	s.Sum += v
	if s.N++; int(s.N) < d.cfg.Block {
		return None
	}
	mean := s.Sum / s.N
	s.Sum, s.N = 0, 0
	if s.Blocks < math.Max(2, d.cfg.Memory/2) {
		d.learn(mean)
		return None
	}
	z := 0.0
	if deviation := math.Sqrt(s.Square); deviation > 0 {
		z = (mean - s.Mean) / deviation
	} else if mean != s.Mean {
		z = math.Copysign(d.cfg.Height, mean-s.Mean)
	}
	z = math.Max(-4, math.Min(4, z)) // one block alone is no change
	s.High, s.Low = math.Max(0, s.High+z-d.cfg.Slack), math.Max(0, s.Low-z-d.cfg.Slack)
	s.HighFor, s.LowFor = rising(s.High, s.HighFor), rising(s.Low, s.LowFor)
	switch {
	case s.High >= d.cfg.Height:
		d.restart(mean, s.HighFor)
		return Up
	case s.Low >= d.cfg.Height:
		d.restart(mean, s.LowFor)
		return Down
	case math.Max(s.High, s.Low) < d.cfg.Height/3:
		d.learn(mean)
	}
	return None
}

// learn takes a block into the level and the spread.
func (d *Detector) learn(mean float64) {
	s := &d.s
	s.Blocks = math.Min(s.Blocks+1, d.cfg.Memory)
	off := mean - s.Mean
	s.Mean += off / s.Blocks
	s.Square += (off*(mean-s.Mean) - s.Square) / s.Blocks
}

// rising counts the blocks since a sum rose from 0.
func rising(sum, blocks float64) float64 {
	if sum > 0 {
		return blocks + 1
	}
	return 0
}

// restart begins again at a new level, which began so many blocks ago.
func (d *Detector) restart(mean, blocks float64) {
	d.s = state{Alarms: d.s.Alarms + 1, Began: blocks * float64(d.cfg.Block)}
	d.learn(mean)
}

// kind and version are those of the saved state.
const kind, version = "drift", 3

// fields passes all that is saved.
func (d *Detector) fields(c *codec.Codec) {
	s := &d.s
	c.Finite(&s.Sum, &s.Mean, &s.High, &s.Low)
	c.Between(0, math.MaxFloat64, &s.N, &s.Square, &s.Blocks, &s.HighFor, &s.LowFor)
	c.Between(0, 1e15, &s.Began)
	c.Uint(&s.Alarms)
}

// Code passes the detector as a part of other saved state.
func (d *Detector) Code(c *codec.Codec) { c.Part(kind, version, d.fields) }

// MarshalBinary saves the state.
func (d *Detector) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, d.fields) }

// UnmarshalBinary restores what MarshalBinary saved. The error is a *codec.Error; after it the Detector is as it was.
func (d *Detector) UnmarshalBinary(data []byte) error {
	return codec.Restore(d, kind, version, data, (*Detector).fields)
}
