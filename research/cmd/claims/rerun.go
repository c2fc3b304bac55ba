package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// These are the outcomes of a claim, as printed.
const (
	reproduced = "reproduced"
	within     = "within tolerance"
	failed     = "FAILED"
	missing    = "missing data"
	notRerun   = "not rerun"
	once       = "measured once"
)

// outcome is a claim, its outcome, and the reason.
type outcome struct{ what, page, why string }

// runner runs commands in the root of the tree.
type runner struct {
	root, shared string
	full         bool
	keep         keep
	pages        map[string]string
	ran          map[string]result // results of commands that several claims share
}

type result struct {
	output string
	err    error
}

// run runs a command of the table by sh, unless the command has run before or its output is stored; then it returns
// that result. page is the page that it writes; "" for none.
func (r *runner) run(ctx context.Context, command, page string) result {
	if got, ok := r.ran[command]; ok {
		return got
	}
	if out, ok, err := r.keep.output(command, page); ok || err != nil {
		return result{out, err}
	}
	got := r.start(ctx, command)
	if got.err == nil {
		got.err = r.keep.store(command, page, got.output)
	}
	r.ran[command] = got
	return got
}

// start runs a command in a shell. Commands that take long store parts of their results in the folder $KEEP if it is
// set.
func (r *runner) start(ctx context.Context, command string) result {
	fmt.Fprintln(os.Stderr, "claims: "+command)
	shared, err := filepath.Abs(r.shared)
	if err != nil {
		return result{err: err}
	}
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Dir = r.root
	c.Env = append(os.Environ(), "WAITCAST_SHARED="+shared, "SHARED="+r.shared, "KEEP="+r.keep.folder)
	out, err := c.CombinedOutput()
	return result{output: string(out), err: err}
}

// lacks returns the first required file that does not exist.
func (r *runner) lacks(needs []string) string {
	for _, n := range needs {
		if _, err := os.Stat(filepath.Join(r.shared, n)); err != nil {
			return n
		}
	}
	return ""
}

// skip returns the outcome of a command that is not run; ok is false if it is run.
func (r *runner) skip(full bool, needs []string, by string) (outcome, bool) {
	if n := r.lacks(needs); n != "" {
		return outcome{what: missing, why: filepath.Join(r.shared, n)}, true
	}
	if full && !r.full {
		return outcome{what: notRerun, why: "takes long, FULL=1 runs it: " + by}, true
	}
	return outcome{}, false
}

// generate runs the command that writes a page. git shows whether the page has changed.
func (r *runner) generate(ctx context.Context, g Generated) outcome {
	if o, skip := r.skip(g.Full, g.Needs, g.By); skip {
		o.page = g.Page
		return o
	}
	got := r.run(ctx, g.By, g.Page)
	if got.err != nil {
		return outcome{failed, g.Page, fmt.Sprintf("%s: %v: %s", g.By, got.err, tail(got.output))}
	}
	return outcome{reproduced, g.Page, g.By}
}

// measure runs the command of a claim and compares the figures.
func (r *runner) measure(ctx context.Context, c Claim) outcome {
	name := fmt.Sprintf("%s, %q", c.Page, c.Text[0])
	if c.Once != "" {
		return outcome{once, name, c.Once}
	}
	if c.Varies != "" {
		return outcome{notRerun, name, c.Varies + ": " + c.By}
	}
	if o, skip := r.skip(c.Full, c.Needs, c.By); skip {
		o.page = name
		return o
	}
	got := r.run(ctx, c.By, "")
	if got.err != nil {
		return outcome{failed, name, fmt.Sprintf("%s: %v: %s", c.By, got.err, tail(got.output))}
	}
	if strings.Contains(got.output, "--- SKIP") || strings.Contains(got.output, "no tests to run") {
		return outcome{missing, name, c.By + " was skipped: " + tail(got.output)}
	}
	o := outcome{reproduced, name, c.By}
	for _, e := range c.Compare {
		exact, err := e.compare(r.pages[c.Page], got.output)
		if err != nil {
			return outcome{failed, name, err.Error()}
		}
		if !exact {
			o.what = within
		}
	}
	return o
}

// compare reports whether all figures equal those on the page to the last digit given there. It returns an error if one
// differs by more than the tolerance.
func (e *Compare) compare(page, output string) (exact bool, err error) {
	said := e.Page.FindAllStringSubmatch(page, -1)
	if len(said) != 1 {
		return false, fmt.Errorf("the page has %d places that match %v, want 1", len(said), e.Page)
	}
	got := e.Output.FindStringSubmatch(output)
	if got == nil {
		return false, fmt.Errorf("nothing in the output matches %v: %s", e.Output, tail(output))
	}
	exact = true
	for i, name := range e.Page.SubexpNames() {
		if i == 0 {
			continue
		}
		j := i
		if name != "" {
			j = e.Output.SubexpIndex(name)
		}
		a, digit, err := number(said[0][i])
		if err != nil {
			return false, err
		}
		b, _, err := number(got[j])
		if err != nil {
			return false, err
		}
		off := math.Abs(a - b)
		same := off <= digit/2*(1+1e-6)
		if !same && off > e.Within {
			return false, fmt.Errorf("the page says %s, measured %s", said[0][i], got[j])
		}
		exact = exact && same
	}
	return exact, nil
}

// number parses a figure and returns the value of one unit in its last digit.
func number(s string) (value, digit float64, err error) {
	s = strings.ReplaceAll(s, ",", "")
	value, err = strconv.ParseFloat(s, 64)
	_, fraction, _ := strings.Cut(s, ".")
	return value, math.Pow10(-len(fraction)), err
}

// tail returns the end of a command's output.
func tail(output string) string {
	const most = 300
	output = strings.TrimSpace(output)
	return strings.ToValidUTF8(output[max(0, len(output)-most):], "")
}
