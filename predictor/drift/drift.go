// Package drift detects changes of the level of a stream of losses or other values. After a downtime, or with new
// limits or partitions, what was learned before is worth less.
//
// The method is a two-sided cumulative sum of the standardized means of blocks (E. S. Page, "Continuous inspection
// schemes", Biometrika 41, 1954). It uses blocks because jobs that wait together have correlated losses, so that
// single values would cause an alarm at every burst. The sum is relative to a running level and spread. While the sum
// is high, these are not updated, so that a slow change is not absorbed.
package drift

import (
	"math"

	"github.com/waitcast/waitcast/internal/codec"
)

// Config configures the sensitivity of a Detector. The zero value of a field means its default.
type Config struct {
	// Block is the number of values per block, 100 by default.
	Block int
	// Memory is the number of blocks over which the level and the spread are averaged, 150 by default. There is no
	// alarm before half of them have passed.
	Memory float64
	// Slack is the tolerated change, in standard deviations of a block's mean, 0.5 by default. Height is the sum at
	// which there is an alarm, 10 by default. If blocks were independent and normal, there would be a false alarm to
	// either side once in about (exp(2 s b) - 2 s b - 1)/(2 s^2) blocks, where s is Slack and b = Height + 1.166 (D.
	// Siegmund, "Sequential Analysis", 1985, equation 2.57). By default that is 141,000.
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

// Change is the direction in which the level changed at a value, if it changed.
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

// state is the saved state.
type state struct {
	Sum, N       float64 // sum and number of values of the open block
	Mean, Square float64 // mean of the block means, and of their squared distances from it
	Blocks       float64 // number of blocks in Mean and Square, up to the memory
	High, Low    float64 // the two cumulative sums
	Alarms       uint64

	HighFor, LowFor float64 // number of blocks since each sum rose from 0
	Began           float64 // estimated number of values from the beginning of the newest change to its detection
}

// New returns a Detector without values.
func New(cfg Config) *Detector { return &Detector{cfg: cfg.withDefaults()} }

// Alarms returns the number of detected changes.
func (d *Detector) Alarms() int { return int(d.s.Alarms) }

// Began returns the estimated beginning of the newest change, as the number of values before its detection. A change is
// assumed to begin when the sum that showed it last rose from 0 (Page 1954). Began is 0 before the first change.
func (d *Detector) Began() int { return int(d.s.Began) }

// Level returns the running mean with which new values are compared. It returns false before the first block is
// complete.
func (d *Detector) Level() (float64, bool) { return d.s.Mean, d.s.Blocks > 0 }

// Add adds a value. If the value completes a block that shows a change of the level, Add returns the direction of the
// change, otherwise None. After a change the level is learnt from scratch. Values that are not finite are ignored.
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
	z = math.Max(-4, math.Min(4, z)) // bounded, so that one block alone is no change
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

// learn adds a block to the level and the spread.
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

// restart resets the detector to a new level that began the given number of blocks ago.
func (d *Detector) restart(mean, blocks float64) {
	d.s = state{Alarms: d.s.Alarms + 1, Began: blocks * float64(d.cfg.Block)}
	d.learn(mean)
}

// kind and version identify the format of the saved state.
const kind, version = "drift", 3

// fields reads or writes the saved state.
func (d *Detector) fields(c *codec.Codec) {
	s := &d.s
	c.Finite(&s.Sum, &s.Mean, &s.High, &s.Low)
	c.Between(0, math.MaxFloat64, &s.N, &s.Square, &s.Blocks, &s.HighFor, &s.LowFor)
	c.Between(0, 1e15, &s.Began)
	c.Uint(&s.Alarms)
}

// Code reads or writes the detector as a part of other saved state.
func (d *Detector) Code(c *codec.Codec) { c.Part(kind, version, d.fields) }

// MarshalBinary saves the state.
func (d *Detector) MarshalBinary() ([]byte, error) { return codec.Save(kind, version, 0, d.fields) }

// UnmarshalBinary restores a state that MarshalBinary saved. An error is a *codec.Error and leaves the Detector
// unchanged.
func (d *Detector) UnmarshalBinary(data []byte) error {
	return codec.Restore(d, kind, version, data, (*Detector).fields)
}
