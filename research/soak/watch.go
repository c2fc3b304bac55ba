package soak

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// sample has the resources that a daemon uses at one time. Memory, Peak and Heap are in bytes.
type sample struct {
	Lines                                 int64 // number of lines of the log so far
	Day                                   float64
	Memory, Peak, Heap, Goroutines, Files float64
}

// watch collects the samples of a daemon during a run.
type watch struct{ samples []sample }

// look takes a sample if the daemon answers, and returns the daemon's metrics. lines and day are the place in the log.
func (w *watch) look(ctx context.Context, p *process, lines int64, day float64) map[string]float64 {
	m := p.metrics(ctx)
	if m["process_resident_memory_bytes"] == 0 {
		return m
	}
	w.samples = append(w.samples, sample{
		Lines: lines, Day: day, Memory: m["process_resident_memory_bytes"], Peak: p.highWater(),
		Heap: m["go_memstats_heap_inuse_bytes"], Goroutines: m["go_goroutines"], Files: m["process_open_fds"],
	})
	return m
}

func (w *watch) peak() float64 {
	peak := 0.
	for i := range w.samples {
		peak = max(peak, w.samples[i].Memory, w.samples[i].Peak)
	}
	return peak
}

const mib = 1 << 20

// table writes a table with the maximum of each resource in each tenth of a run.
func (w *watch) table(out io.Writer) {
	fmt.Fprintf(out, "%12s %6s %9s %9s %9s %11s %6s\n", "lines", "day", "RSS MiB", "peak MiB", "heap MiB",
		"goroutines", "files")
	for _, part := range parts(w.samples) {
		var s sample
		for _, x := range part {
			s = sample{
				x.Lines, x.Day, max(s.Memory, x.Memory), max(s.Peak, x.Peak), max(s.Heap, x.Heap),
				max(s.Goroutines, x.Goroutines), max(s.Files, x.Files),
			}
		}
		fmt.Fprintf(out, "%12d %6.0f %9.1f %9.1f %9.1f %11.0f %6.0f\n", s.Lines, s.Day, s.Memory/mib, s.Peak/mib,
			s.Heap/mib, s.Goroutines, s.Files)
	}
}

// tenths is the number of parts into which a run is divided in the tables of the report.
const tenths = 10

// parts divides samples into tenths of the run, by the numbers of lines. Tenths without samples are left out.
func parts(all []sample) (out [][]sample) {
	if len(all) == 0 {
		return nil
	}
	first, last := all[0].Lines, all[len(all)-1].Lines
	for i := range int64(tenths) {
		var part []sample
		for _, s := range all {
			if min(tenths*(s.Lines-first)/max(1, last-first), tenths-1) == i {
				part = append(part, s)
			}
		}
		if len(part) > 0 {
			out = append(out, part)
		}
	}
	return out
}

// bounds limit the growth of a value over the second half of a run. The value may grow by the share of its median, or
// by the amount some, whichever is more. unit is the unit in which the report shows it.
type bounds struct {
	name        string
	of          func(*sample) float64
	share, some float64
	unit        float64
}

func grows() []bounds {
	return []bounds{
		{"goroutines", func(s *sample) float64 { return s.Goroutines }, .1, 5, 1},
		{"open files", func(s *sample) float64 { return s.Files }, .1, 5, 1},
	}
}

// memoryGrows returns the bounds for memory. They apply only to runs that are long enough to fill the windows of the
// models (windowsFull).
func memoryGrows() bounds {
	return bounds{"resident memory, MiB", func(s *sample) float64 { return s.Memory }, .15, 24 * mib, mib}
}

// growth estimates how much a value has grown over the second half of a run: the slope of Theil and Sen, which is the
// median of the slopes between pairs of samples (P. Sen, JASA 63, 1968), times the number of lines in that half. text
// describes the growth, and ok is true if it is within the bounds.
func (w *watch) growth(b bounds) (text string, ok bool) {
	half := w.samples[len(w.samples)/2:]
	if len(half) < 4 {
		return fmt.Sprintf("%s: too few samples", b.name), true
	}
	step := max(1, len(half)/mostPairs)
	var slopes, values []float64
	for i := 0; i < len(half); i += step {
		values = append(values, b.of(&half[i]))
		for j := i + step; j < len(half); j += step {
			if dx := float64(half[j].Lines - half[i].Lines); dx > 0 {
				slopes = append(slopes, (b.of(&half[j])-b.of(&half[i]))/dx)
			}
		}
	}
	if len(slopes) == 0 {
		return fmt.Sprintf("%s: too few samples", b.name), true
	}
	grown := median(slopes) * float64(half[len(half)-1].Lines-half[0].Lines)
	mid := median(values)
	allowed := max(b.share*mid, b.some)
	return fmt.Sprintf("%s: median %.1f, %+.1f over the second half, allowed %.1f", b.name, mid/b.unit, grown/b.unit,
		allowed/b.unit), grown <= allowed
}

// mostPairs is the approximate maximum number of samples whose pairs are used.
const mostPairs = 400

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// total returns the sum of the series with a metric name whose labels contain the text label. ok is false if there are
// none.
func total(series map[string]float64, name, label string) (sum float64, ok bool) {
	for key, x := range series {
		if metric, labels, _ := strings.Cut(key, "{"); metric == name && strings.Contains(labels, label) {
			sum, ok = sum+x, true
		}
	}
	return sum, ok
}
