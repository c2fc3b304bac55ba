package source

import (
	"bytes"
	"fmt"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/tail"
	"github.com/waitcast/waitcast/job"
)

// These bound the detection of a wrong format. They are a free choice: a scheduler writes this many lines in minutes,
// and trying all formats on them takes about a millisecond.
const (
	// sampleLines is the number of lines that are kept for the trial. Lines of more than sampleBytes are left out.
	sampleLines = 32
	sampleBytes = 16 << 10
	// After enoughLines lines without a job the first trial is made. The number of lines doubles for each further
	// trial.
	enoughLines = 10
	// After hopelessLines consecutive lines that are no records of the format, a problem is reported even if no other
	// format can read them.
	hopelessLines = 100
)

// detector notices that a log has another format than the configured one.
type detector struct {
	cfg        *Config
	sample     [][]byte // the newest lines
	silent     int      // number of consecutive lines without a job
	refused    int      // number of consecutive lines that are not records of the format
	tryAt      int      // the value of silent at which the sample is tried
	recognized bool
	// problem reports a wrong format. It is nil before a trial finds one, and again after a line about a job.
	problem *tail.Problem
	counted bool // problem is counted in the metrics
}

func newDetector(cfg *Config) detector { return detector{cfg: cfg, tryAt: enoughLines} }

// good records that a line reported a job, so that the format is right.
func (d *detector) good() {
	if d.silent > 0 {
		d.silent, d.refused, d.sample, d.tryAt, d.problem = 0, 0, d.sample[:0], enoughLines, nil
	}
	d.recognized = true
}

// fruitless records a line that reported no job, and tries other formats if there are many such lines. reason is the
// reason of its error, "" if it had none.
func (d *detector) fruitless(line *tail.Line, reason string) {
	text := bytes.TrimSpace(line.Text)
	if len(text) == 0 {
		return
	}
	d.silent++
	if d.refused++; reason != collector.ReasonFormat {
		d.refused = 0
	}
	if d.problem != nil {
		return
	}
	if len(text) <= sampleBytes {
		d.keep(line.Text)
	}
	if d.silent >= d.tryAt || d.refused == enoughLines || d.refused == hopelessLines {
		d.try(line.Path)
	}
	if d.problem == nil && d.refused >= hopelessLines {
		d.stand(line.Path,
			fmt.Errorf("none of the last %d lines is a record of format %s, nor of another known format; "+
				"is it the right file?", d.refused, d.cfg.Format.Name))
	}
}

// keep adds a line to the sample. In a full sample the line replaces the oldest one.
func (d *detector) keep(text []byte) {
	if len(d.sample) < sampleLines {
		d.sample = append(d.sample, bytes.Clone(text))
		return
	}
	oldest := d.sample[0]
	copy(d.sample, d.sample[1:])
	d.sample[sampleLines-1] = append(oldest[:0], text...)
}

// ended is called at the present end of the log. A log without any job is then judged by the lines read so far.
func (d *detector) ended(path string) {
	if !d.recognized && d.problem == nil && 0 < d.silent && d.silent < enoughLines {
		d.try(path)
	}
}

// try parses the sample with every other format. If some find events, the problem names the one that finds most. If
// none finds events, the next trial waits until twice as many lines were without a job.
func (d *detector) try(path string) {
	best, most := "", 0
	for _, f := range d.cfg.Others {
		if f.New == nil || f.Name == d.cfg.Format.Name {
			continue
		}
		if n := d.readBy(f); n > most {
			best, most = f.Name, n
		}
	}
	if best != "" {
		d.stand(path, fmt.Errorf("it looks like %s: none of the last %d lines reports a job in format %s, "+
			"but in format %s they do; set the source's format to %s, or its path to another file",
			best, d.silent, d.cfg.Format.Name, best, best))
		return
	}
	if d.silent >= d.tryAt {
		d.tryAt = 2 * d.silent
	}
}

func (d *detector) stand(path string, err error) {
	d.counted = false
	d.problem = &tail.Problem{Path: path, Reason: tail.WrongFormat, Err: err}
}

// readBy returns the number of events that a format finds in the sample. It returns 0 if the format refuses half of
// the lines or more.
func (d *detector) readBy(f collector.Format) int {
	options := d.cfg.Options
	options.MaxProcs = 0 // the size of the machine does not matter here
	parser := f.New(options)
	events, refused := 0, 0
	for _, line := range d.sample {
		if parser.Parse(line, func(job.Event) { events++ }) != nil {
			refused++
		}
	}
	if 2*refused >= len(d.sample) {
		return 0
	}
	return events
}
