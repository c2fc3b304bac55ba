package jobscript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lsfOptions returns the options of bsub of LSF 10.1.
func lsfOptions() map[string]int {
	return optionTable(
		"ar B csm H I IS ISp ISs IX Ip Is K N Ne notify_any pack_skip_err r rn tty ul x XF Zs h V",
		"a alloc_flags app b C c clusters cn_cu cn_mem core_isolation cu cwd D data datagrp E Ep e env eo eptl ext "+
			"extsched F f freq G g gpu hl hostfile i is J Jd jsdl jsm json "+
			"k L Lp ln_mem ln_slots M m mig n network nnodes o oo outdir P p pack ptl Q q R rnc S s sla smt sp stage "+
			"step_cgroup T t ti U u v W We w wa wt yaml rcacct rtq",
	)
}

// lsf reads the script as bsub reads its standard input: first the directives of the whole file, then the command line.
// The manual does not say which of two directives with the same option counts. lsf uses the last, with a warning.
func (p *parser) lsf() (Request, error) {
	d := &dash{p: p, values: lsfOptions(), glued: true}
	for i, line := range p.lines {
		text, ok := strings.CutPrefix(line, "#BSUB")
		if !ok {
			continue
		}
		p.directive(i + 1)
		words, err := p.words(text, origin{line: i + 1}, quoting{comment: true})
		if err == nil {
			err = d.parse(words)
		}
		if err != nil {
			return Request{}, err
		}
	}
	script := len(d.all)
	if err := d.parse(p.args()); err != nil {
		return Request{}, err
	}
	return p.lsfRequest(d.all, needs(d.all[:script], d.all[script:]))
}

// needs returns the resource requirements (-R) that apply. Several are combined. The requirements of the command line
// replace those of the script.
func needs(script, above []setting) []setting {
	isNeed := func(s setting) bool { return s.name == "R" }
	if slices.ContainsFunc(above, isNeed) {
		script = above
	}
	var found []setting
	for _, s := range script {
		if isNeed(s) {
			found = append(found, s)
		}
	}
	return found
}

// lsfRequest creates the request from the options.
func (p *parser) lsfRequest(all, requirements []setting) (Request, error) {
	kept := p.last(slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return s.name == "R" }), dashWritten)
	r := Request{
		Queues: strings.Fields(kept.value("q")), Account: kept.value("P"), QOS: kept.value("sla"),
		Begin: kept.value("b"),
		Hold:  kept.has("H"), Dependent: kept.value("w") != "", Exclusive: kept.has("x"),
	}
	if r.Exclusive {
		p.warn(kept["x"].at, "-x takes whole hosts, whose size the script does not tell")
	}
	if q, ok := kept["q"]; ok && len(r.Queues) == 0 {
		return Request{}, p.fail(q.at, dashWritten(q), "it names no queue", "name one")
	}
	for _, read := range [...]func(*Request, settings) error{p.lsfSlots, p.lsfName, p.lsfLimit} {
		if err := read(&r, kept); err != nil {
			return Request{}, err
		}
	}
	if err := p.lsfNeeds(&r, requirements); err != nil {
		return Request{}, err
	}
	if err := p.lsfMemory(&r, kept); err != nil {
		return Request{}, err
	}
	if err := p.lsfGPUs(&r, kept); err != nil {
		return Request{}, err
	}
	return r, p.fit(&r)
}

// lsfSlots parses -n least[,most] and -nnodes.
func (p *parser) lsfSlots(r *Request, kept settings) error {
	r.Procs = 1
	if s, ok := kept["n"]; ok {
		least, most, isRange := strings.Cut(s.value, ",")
		var err error
		if r.Procs, err = positive(least); err == nil && isRange {
			r.ProcsMax, err = positive(most)
		}
		if err == nil && isRange && r.ProcsMax < r.Procs {
			err = fmt.Errorf("%d is less than %d", r.ProcsMax, r.Procs)
		}
		if err != nil {
			return p.fail(s.at, dashWritten(s), err.Error(), "write -n 16 or -n 4,16")
		}
	}
	if s, ok := kept["nnodes"]; ok {
		n, err := positive(s.value)
		if err != nil {
			return p.fail(s.at, dashWritten(s), err.Error(), "write a whole number from 1")
		}
		r.Nodes, r.Procs = n, max(n, r.Procs)
		p.warn(s.at, "-nnodes takes whole nodes, whose size the script does not tell")
	}
	return nil
}

// lsfName parses -J name or -J "name[1-10:2,15]%4".
func (p *parser) lsfName(r *Request, kept settings) error {
	s, ok := kept["J"]
	if !ok {
		return nil
	}
	name, rest, isArray := strings.Cut(s.value, "[")
	r.Name = name
	if !isArray {
		return nil
	}
	const hint = `write it as -J "name[1-100]" or "name[1-100:2,200]%10"`
	indices, limit, closed := strings.Cut(rest, "]")
	if !closed {
		return p.fail(s.at, dashWritten(s), "a bracket is not closed", hint)
	}
	items := strings.Split(indices, ",")
	seen := newIndexSet(len(items) > 1)
	for _, item := range items {
		from, to, step, err := indexRange(strings.TrimSpace(item))
		if err == nil && from == 0 {
			err = errors.New("an index must be 1 or more")
		}
		if err == nil {
			err = seen.add(from, to, step, maxTasks)
		}
		if err != nil {
			return p.fail(s.at, dashWritten(s), err.Error(), hint)
		}
	}
	r.Tasks = seen.size
	if limit == "" {
		return nil
	}
	n, err := count(strings.TrimPrefix(limit, "%"))
	if err != nil {
		return p.fail(s.at, dashWritten(s), err.Error(), hint)
	}
	r.AtOnce = n
	return nil
}

// lsfLimit parses -W [hour:]minute[/host].
func (p *parser) lsfLimit(r *Request, kept settings) error {
	s, ok := kept["W"]
	if !ok {
		return nil
	}
	text, host, onHost := strings.Cut(s.value, "/")
	fields := strings.Split(text, ":")
	var err error
	switch len(fields) {
	case 1:
		r.TimeLimit, err = addUp(fields, false, time.Minute)
	case 2:
		r.TimeLimit, err = addUp(fields, false, time.Hour, time.Minute)
	default:
		err = errors.New("too many colons")
	}
	if err != nil {
		return p.fail(s.at, dashWritten(s), err.Error(), "write minutes or hours:minutes")
	}
	if onHost {
		p.warn(s.at, "the limit is read as one of this machine, not of %s", clip(host))
	}
	return nil
}
