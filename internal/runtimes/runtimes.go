// Package runtimes reads runtime curves the way people write them on the command line, and says which part of the text is wrong.
//
//	1:10h,2:5.5h          Table: size and runtime, at least two
//	0.05,10h              Amdahl: serial share F, runtime T1 on one processor
//	64,0.5,10h            Downey: average parallelism A, variance sigma, runtime T1 on one processor
//
// Durations are those of package duration.
package runtimes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/workload/speedup"
)

// maxText bounds the text that is looked at, and so the number of entries.
const maxText = 1 << 16

// ParseError says which part of a text cannot be read.
type ParseError struct {
	Form  string // what was to be read: "table", "Amdahl" or "Downey"
	Place int    // of the part among those between commas, from 1; 0 for the text as a whole
	Part  string // that part, shortened if it is very long
	Want  string // how such a text is written
	Err   error  // what is wrong: a *duration.ParseError, a *speedup.PointError or *speedup.ParameterError, or a message
}

// Error names the place and what to write.
func (e *ParseError) Error() string {
	if e.Place == 0 {
		return fmt.Sprintf("%s %q: %v; write %s", e.Form, e.Part, e.Err, e.Want)
	}
	return fmt.Sprintf("%s, entry %d %q: %v; write %s", e.Form, e.Place, e.Part, e.Err, e.Want)
}

// Unwrap returns what is wrong.
func (e *ParseError) Unwrap() error { return e.Err }

// form is one way to write a curve.
type form struct{ name, want string }

func (f form) fail(place int, part string, err error) *ParseError {
	const most = 64
	if len(part) > most {
		part = part[:most] + "..."
	}
	return &ParseError{Form: f.name, Place: place, Part: part, Want: f.want, Err: err}
}

// split takes a text apart at its commas.
func (f form) split(text string) ([]string, error) {
	switch {
	case len(text) > maxText:
		return nil, f.fail(0, text, errors.New("too long"))
	case strings.TrimSpace(text) == "":
		return nil, f.fail(0, text, errors.New("it is empty"))
	}
	parts := strings.Split(text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts, nil
}

// Table reads a table of sizes and runtimes, in any order. Every error is a *ParseError.
func Table(text string) (*speedup.Table, error) {
	f := form{"runtime table", "size:runtime,size:runtime,... as in 1:10h,2:5.5h"}
	parts, err := f.split(text)
	if err != nil {
		return nil, err
	}
	points := make([]speedup.Point, len(parts))
	for i, part := range parts {
		if points[i], err = point(part); err != nil {
			return nil, f.fail(i+1, part, err)
		}
	}
	table, err := speedup.NewTable(points)
	var bad *speedup.PointError
	if errors.As(err, &bad) && bad.Place > 0 {
		return nil, f.fail(bad.Place, parts[bad.Place-1], err)
	}
	if err != nil {
		return nil, f.fail(0, text, err)
	}
	return table, nil
}

func point(part string) (speedup.Point, error) {
	size, runtime, ok := strings.Cut(part, ":")
	if !ok {
		return speedup.Point{}, errors.New("no colon between size and runtime")
	}
	procs, err := strconv.ParseUint(strings.TrimSpace(size), 10, 31)
	if err != nil {
		return speedup.Point{}, fmt.Errorf("%q is not a number of processors", size)
	}
	d, err := duration.Parse(runtime)
	return speedup.Point{Procs: int(procs), Seconds: d.Seconds()}, err
}

// Amdahl reads F,T1. Every error is a *ParseError.
func Amdahl(text string) (*speedup.Amdahl, error) {
	f := form{"Amdahl", "F,T1 as in 0.05,10h: the serial share of the work, and the runtime on one processor"}
	v, parts, err := f.numbers(text, 1)
	if err != nil {
		return nil, err
	}
	a, err := speedup.NewAmdahl(v[0], v[1])
	if err != nil {
		return nil, f.parameter(err, parts, "F", "T1")
	}
	return a, nil
}

// Downey reads A,sigma,T1. Every error is a *ParseError.
func Downey(text string) (*speedup.Downey, error) {
	f := form{"Downey", "A,sigma,T1 as in 64,0.5,10h: average parallelism, its variance, and the runtime on one processor"}
	v, parts, err := f.numbers(text, 2)
	if err != nil {
		return nil, err
	}
	d, err := speedup.NewDowney(speedup.Profile{A: v[0], Sigma: v[1]}, v[2])
	if err != nil {
		return nil, f.parameter(err, parts, "A", "sigma", "T1")
	}
	return d, nil
}

// numbers reads so many numbers and a duration after them.
func (f form) numbers(text string, n int) (values []float64, parts []string, err error) {
	if parts, err = f.split(text); err != nil {
		return nil, nil, err
	}
	if len(parts) != n+1 {
		return nil, nil, f.fail(0, text, fmt.Errorf("%d entries", len(parts)))
	}
	values = make([]float64, n+1)
	for i, part := range parts[:n] {
		if values[i], err = strconv.ParseFloat(part, 64); err != nil {
			return nil, nil, f.fail(i+1, part, errors.New("not a number"))
		}
	}
	d, err := duration.Parse(parts[n])
	if err != nil {
		return nil, nil, f.fail(n+1, parts[n], err)
	}
	values[n] = float64(d) / float64(time.Second)
	return values, parts, nil
}

// parameter says where the parameter stands that an error is about.
func (f form) parameter(err error, parts []string, names ...string) *ParseError {
	var bad *speedup.ParameterError
	if errors.As(err, &bad) {
		for i, name := range names {
			if name == bad.Name {
				return f.fail(i+1, parts[i], err)
			}
		}
	}
	return f.fail(0, strings.Join(parts, ","), err)
}
