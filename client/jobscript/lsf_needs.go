package jobscript

import (
	"fmt"
	"strings"
)

// lsfNeeds parses -R: span[ptile=8], span[hosts=1] and rusage[mem=4GB:...]. Other sections only select hosts.
func (p *parser) lsfNeeds(r *Request, requirements []setting) error {
	hosts, memory := 0, lsfMemory{}
	for _, s := range requirements {
		if strings.ContainsAny(s.value, "{}") || strings.Contains(s.value, "||") {
			p.warn(s.at, "%s: a compound or alternative requirement is not read", clip(dashWritten(s)))
			continue
		}
		for rest := s.value; ; {
			before, after, found := strings.Cut(rest, "[")
			if !found {
				break
			}
			body, next, closed := strings.Cut(after, "]")
			if !closed {
				return p.fail(s.at, dashWritten(s), "a bracket is not closed",
					`write it as -R "span[ptile=8] rusage[mem=4GB]"`)
			}
			rest = next
			section := before[strings.LastIndexAny(before, " \t]")+1:]
			var err error
			switch section {
			case "span":
				hosts, err = spanHosts(body, r.Procs)
			case "rusage":
				memory, err = memory.read(body, s)
			case "affinity":
				p.warn(s.at, "affinity[%s]: what it binds is not counted, only the tasks of -n", clip(body))
			}
			if err != nil {
				return p.fail(s.at, dashWritten(s), err.Error(), `write it as -R "span[ptile=8] rusage[mem=4GB]"`)
			}
		}
	}
	r.Nodes = max(r.Nodes, hosts)
	if memory.bytes > 0 {
		r.Memory = bytesTimes(memory.bytes, memory.times(max(r.Nodes, 1), r.Procs))
		p.warn(memory.from.at,
			"rusage[mem=...] is counted %s, and in megabytes where it has no unit; a site may do otherwise",
			memory.how())
	}
	return nil
}

// spanHosts returns the number of hosts that a section span[...] prescribes for a job with procs processors. It returns
// 0 if the section leaves it open.
func spanHosts(body string, procs int) (int, error) {
	name, value, _ := strings.Cut(strings.TrimSpace(body), "=")
	switch strings.TrimSpace(name) {
	case "hosts":
		if v := strings.TrimSpace(value); v != "-1" {
			return positive(v)
		}
	case "ptile", "block":
		first, _, _ := strings.Cut(value, ",") // the rest is about models of hosts
		if first = strings.TrimSpace(first); strings.HasPrefix(first, "!") || strings.HasPrefix(first, "'!'") {
			return 0, nil
		}
		n, err := positive(first)
		if err != nil || name == "block" {
			return 0, err
		}
		return (procs-1)/n + 1, nil
	}
	return 0, nil
}

// lsfMemory is the memory that rusage reserves.
type lsfMemory struct {
	bytes int64
	each  string // "job", "host" or "task"
	from  setting
}

// read parses the body of rusage: name=value[/job, /host or /task][:...]. A number without a unit is in megabytes.
func (m lsfMemory) read(body string, from setting) (lsfMemory, error) {
	for _, item := range strings.FieldsFunc(body, func(r rune) bool { return r == ':' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if strings.TrimSpace(name) != "mem" {
			continue
		}
		value, each, has := strings.Cut(strings.TrimSpace(value), "/")
		if !has {
			each = "host"
		}
		if each != "job" && each != "host" && each != "task" {
			return m, fmt.Errorf("mem=.../%s is not known", clip(each))
		}
		bytes, err := size(value, "KMGTP", true, 1<<20)
		if err != nil {
			return m, err
		}
		m = lsfMemory{bytes: bytes, each: each, from: from}
	}
	return m, nil
}

func (m lsfMemory) times(hosts, procs int) int {
	switch m.each {
	case "task":
		return procs
	case "host":
		return hosts
	}
	return 1
}

func (m lsfMemory) how() string {
	if m.each == "job" {
		return "once"
	}
	return "for each " + m.each
}

// lsfMemory parses -M, which applies if no memory is reserved. It is a limit for each process. Without a unit it is
// in kilobytes (LSF_UNIT_FOR_LIMITS).
func (p *parser) lsfMemory(r *Request, kept settings) error {
	s, ok := kept["M"]
	if !ok {
		return nil
	}
	bytes, err := size(strings.TrimSuffix(strings.TrimSpace(s.value), "!"), "KMGTP", true, 1<<10)
	if err != nil {
		return p.fail(s.at, dashWritten(s), err.Error(), "write it as -M 4GB")
	}
	if r.Memory == 0 {
		r.Memory = bytes
		p.warn(s.at,
			"-M is taken for the memory of the whole job, and in kilobytes where it has no unit; a site may do "+
				"otherwise")
	}
	return nil
}

// lsfGPUs parses -gpu "num=2:...". The number is per host, or per task with /task. A single dash means the default,
// which is one GPU.
func (p *parser) lsfGPUs(r *Request, kept settings) error {
	s, ok := kept["gpu"]
	if !ok {
		return nil
	}
	n, of := 1, max(r.Nodes, 1)
	for _, item := range strings.Split(s.value, ":") {
		name, value, _ := strings.Cut(item, "=")
		switch name {
		case "num":
			value, each, _ := strings.Cut(value, "/")
			var err error
			if n, err = count(value); err != nil {
				return p.fail(s.at, dashWritten(s), err.Error(), `write it as -gpu "num=2"`)
			}
			if each == "task" {
				of = r.Procs
			}
		case "gmodel":
			r.GPUType, _, _ = strings.Cut(value, "-")
		}
	}
	r.GPUs = times(n, of)
	return nil
}
