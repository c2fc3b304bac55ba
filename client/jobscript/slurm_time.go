package jobscript

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// slurmTimes reads the time limit.
func (p *parser) slurmTimes(r *Request, kept settings) error {
	s, ok := kept["time"]
	if !ok {
		return nil
	}
	limit, err := slurmTime(s.value)
	if err != nil {
		return p.fail(s.at, slurmWritten(s), err.Error(),
			"write it as minutes, min:sec, h:m:s, days-hours, days-h:m or days-h:m:s")
	}
	r.TimeLimit, r.Unlimited = limit, limit == 0
	if r.Unlimited {
		p.warn(s.at, "%s asks for no time limit", clip(slurmWritten(s)))
	}
	return nil
}

// slurmTime parses a time limit in the same way as sbatch (sbatch(1), --time); 0 means none. No field has an upper
// limit, and seconds are rounded up to a minute.
func slurmTime(text string) (time.Duration, error) {
	switch {
	case text == "-1", strings.EqualFold(text, "infinite"), strings.EqualFold(text, "unlimited"):
		return 0, nil
	}
	days, clock, isDays := strings.Cut(text, "-")
	if !isDays {
		clock = text
	}
	fields := strings.Split(clock, ":")
	if isDays && clock == "" {
		fields = nil
	}
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	switch {
	case len(fields) > 3:
		return 0, errors.New("too many colons")
	case isDays:
		fields, units = append([]string{days}, fields...), append([]time.Duration{day}, units...)
	case len(fields) < 3:
		units = units[1:]
	}
	sum, err := addUp(fields, false, units...)
	switch {
	case err != nil:
		return 0, err
	case sum > math.MaxInt64-time.Minute:
		return 0, errLong
	}
	return (sum + time.Minute - 1).Truncate(time.Minute), nil
}

// slurmMaxIndex is the maximum index of an array that Slurm allows (slurm.conf(5), MaxArraySize). Sites usually set a
// lower maximum.
const slurmMaxIndex = 4_000_000

// slurmArray parses the indices of an array and the number of tasks that may run at once. An index that is given
// twice is one task; this was tested with sbatch 22.05.
func slurmArray(text string) (tasks, atOnce int, err error) {
	if _, limit, limited := strings.Cut(text, "%"); limited {
		end := strings.IndexFunc(limit, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(limit)
		}
		n, _ := digits(limit[:end]) // without digits there is no limit
		atOnce = int(min(n, MaxCount))
	}
	items := list(text)
	seen := newIndexSet(len(items) > 1)
	for _, item := range items {
		item, _, _ = strings.Cut(item, "%") // the first limit counts
		item = strings.TrimSuffix(strings.TrimPrefix(item, "["), "]")
		from, to, step, err := indexRange(item)
		switch {
		case err != nil:
			return 0, 0, err
		case to > slurmMaxIndex:
			return 0, 0, fmt.Errorf("%d is more than Slurm's largest index, %d", to, slurmMaxIndex)
		}
		if err := seen.add(from, to, step, slurmMaxIndex+1); err != nil {
			return 0, 0, err
		}
	}
	if seen.size == 0 {
		return 0, 0, errors.New("it names no index")
	}
	return seen.size, atOnce, nil
}

// indexRange parses 5, 1-10 or 1-10:2.
func indexRange(text string) (from, to, step int, err error) {
	first, rest, isRange := strings.Cut(text, "-")
	last, by, stepped := strings.Cut(rest, ":")
	if from, err = count(first); err != nil {
		return 0, 0, 0, err
	}
	to, step = from, 1
	if isRange {
		if to, err = count(last); err != nil {
			return 0, 0, 0, err
		}
	}
	if stepped {
		if step, err = positive(by); err != nil {
			return 0, 0, 0, fmt.Errorf("step: %w", err)
		}
	}
	if from > to {
		return 0, 0, 0, fmt.Errorf("%d is more than %d", from, to)
	}
	return from, to, step, nil
}

// indexSet counts different indices. It does not store them if there is a single range.
type indexSet struct {
	size, named int
	several     bool
	bits        []uint64
}

func newIndexSet(several bool) *indexSet { return &indexSet{several: several} }

// add counts the indices of a range. It returns an error if there are more than most indices so far, repeated ones
// included. If there are several ranges, it also returns an error for an index above most.
func (s *indexSet) add(from, to, step, most int) error {
	n := (to-from)/step + 1
	if s.named += n; s.named > most {
		return fmt.Errorf("it has more than %d tasks", most)
	}
	if !s.several {
		s.size += n
		return nil
	}
	if to > most {
		return fmt.Errorf("%d is more than %d", to, most)
	}
	if words := to/64 + 1; words > len(s.bits) {
		s.bits = append(s.bits, make([]uint64, words-len(s.bits))...)
	}
	for i := from; i <= to; i += step {
		if bit := uint64(1) << (i % 64); s.bits[i/64]&bit == 0 {
			s.bits[i/64] |= bit
			s.size++
		}
	}
	return nil
}
