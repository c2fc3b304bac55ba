package jobscript

import (
	"fmt"
	"strings"
)

// slurm reads the script in the same way as sbatch: first the directives, then SBATCH_* of the environment, then the
// command line.
func (p *parser) slurm() (Request, error) {
	if !strings.HasPrefix(p.lines[0], "#!") {
		return Request{}, p.fail(origin{line: 1}, "", "a script for sbatch must begin with #! and the path of a shell",
			"write #!/bin/sh there")
	}
	for i, line := range p.lines {
		if strings.HasSuffix(line, "\r") {
			return Request{}, p.fail(origin{line: i + 1}, "", "a line break of DOS, which sbatch refuses",
				"convert the script, as with dos2unix")
		}
	}
	script, err := p.slurmScript()
	if err != nil {
		return Request{}, err
	}
	args, err := p.slurmArgs()
	if err != nil {
		return Request{}, err
	}
	return p.slurmJoin(script, p.slurmEnvironment(), args)
}

// slurmScript reads the directives. It returns a list of settings for each component of a heterogeneous job.
func (p *parser) slurmScript() ([][]setting, error) {
	how := quoting{escape: true, within: true, split: true, drop: true, comment: true, hash: true}
	parts := [][]word{nil}
	command := p.command()
	for i, line := range p.lines {
		text, ok := strings.CutPrefix(line, "#SBATCH")
		if i+1 >= command || !ok {
			continue
		}
		p.directive(i + 1)
		words, err := p.words(text, origin{line: i + 1}, how)
		if err != nil {
			return nil, err
		}
		for k, w := range words {
			if w.text == ":" {
				return nil, p.fail(w.at, w.text, "components are not separated so in a script",
					"write #SBATCH hetjob on a line of its own")
			}
			// The rest of the line is ignored. Only as the first word, hetjob begins a component.
			if w.text == "hetjob" || w.text == "packjob" {
				if k == 0 {
					parts = append(parts, nil)
				}
				if k > 0 || len(words) > 1 {
					p.warn(w.at, "%s must stand alone on its line: alone at its beginning it begins a component, and "+
						"what follows it is ignored", w.text)
				}
				break
			}
			parts[len(parts)-1] = append(parts[len(parts)-1], w)
		}
	}
	return p.slurmParts(parts)
}

// slurmArgs reads the command line. In it, a single colon separates components.
func (p *parser) slurmArgs() ([][]setting, error) {
	parts := [][]word{nil}
	for _, w := range p.args() {
		if w.text == ":" {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], w)
	}
	return p.slurmParts(parts)
}

func (p *parser) slurmParts(parts [][]word) ([][]setting, error) {
	lists := make([][]setting, len(parts))
	for i, words := range parts {
		g := &gnu{p: p, options: slurmOptions[:]}
		if err := g.parse(words); err != nil {
			return nil, err
		}
		for k := range g.all {
			slurmSynonym(&g.all[k])
		}
		lists[i] = g.all
	}
	return lists, nil
}

// shares is the value of "exclusive" that stands for --oversubscribe.
const shares = "-s"

// slurmSynonym gives options that replace each other the same name.
func slurmSynonym(s *setting) {
	switch s.name {
	case "tasks-per-node":
		s.name = "ntasks-per-node"
	case "oversubscribe":
		s.name, s.value = "exclusive", shares
	}
}

// slurmEnvironment reads SBATCH_*. An option without a value is set if its variable is empty, "yes" or a number other
// than 0.
func (p *parser) slurmEnvironment() []setting {
	var all []setting
	for _, v := range slurmVariables {
		text, ok := p.opts.Env[v.variable]
		if !ok {
			continue
		}
		at := origin{layer: inEnvironment, variable: v.variable}
		if v.option == "overcommit" {
			if n, number := digits(text); text != "" && !strings.EqualFold(text, "yes") && (!number || n == 0) {
				continue
			}
			text = ""
		}
		all = append(all, setting{name: v.option, value: text, at: at})
	}
	return all
}

// slurmJoin combines the layers of each component. A command line without a colon applies to all components.
func (p *parser) slurmJoin(script [][]setting, environment []setting, args [][]setting) (Request, error) {
	n := max(len(script), len(args))
	if n == 1 {
		return p.slurmComponent(append(append(script[0], environment...), args[0]...), nil)
	}
	var first settings
	components := make([]Request, n)
	for i := range components {
		var all []setting
		if i < len(script) {
			all = append(all, script[i]...)
		}
		all = append(all, environment...)
		switch {
		case len(args) == 1:
			all = append(all, args[0]...)
		case i < len(args):
			all = append(all, args[i]...)
		}
		kept := p.last(all, slurmWritten)
		if i == 0 {
			first = kept
		}
		c, err := p.slurmComponent(all, first)
		if err != nil {
			return Request{}, err
		}
		if c.Tasks > 0 {
			return Request{},
				p.fail(kept["array"].at, slurmWritten(kept["array"]), "a heterogeneous job cannot be an array",
					"remove one of both")
		}
		c.Scheduler = Slurm
		components[i] = c
	}
	return p.slurmWhole(components)
}

// slurmWhole adds up the components.
func (p *parser) slurmWhole(components []Request) (Request, error) {
	whole := components[0]
	for _, c := range components[1:] {
		whole.Procs, whole.ProcsMax = plus(whole.Procs, c.Procs), plus(whole.ProcsMax, c.ProcsMax)
		whole.Nodes, whole.NodesMax = plus(whole.Nodes, c.Nodes), plus(whole.NodesMax, c.NodesMax)
		whole.GPUs, whole.Memory = plus(whole.GPUs, c.GPUs), bytesPlus(whole.Memory, c.Memory)
		whole.TimeLimit, whole.Unlimited = max(whole.TimeLimit, c.TimeLimit), whole.Unlimited || c.Unlimited
		whole.Exclusive = whole.Exclusive || c.Exclusive
	}
	if whole.Unlimited {
		whole.TimeLimit = 0
	}
	whole.Components = components
	p.warn(origin{}, "a heterogeneous job of %d components, which start together: their sizes are added up, and the "+
		"first one's queue counts", len(components))
	return whole, p.fit(&whole)
}

// slurmInherited are the options that later components inherit from the first one by default. This was tested with
// sbatch 22.05.
var slurmInherited = [...]string{"account", "begin", "dependency", "hold", "job-name", "time"}

// slurmComponent reads the options of a job or a component. The options of lower layers come first. first has the
// settings of the first component; it is nil for the first component and for a job without components.
func (p *parser) slurmComponent(all []setting, first settings) (Request, error) {
	before := len(p.warnings)
	kept := p.last(all, slurmWritten)
	if first != nil {
		p.warnings = p.warnings[:before] // these warnings were added already
		for _, name := range slurmInherited {
			if s, ok := first[name]; ok && !kept.has(name) {
				kept[name] = s
			}
		}
	}
	s := slurmSize{p: p, kept: kept}
	if err := s.read(); err != nil {
		return Request{}, err
	}
	r := s.request
	r.Name, r.Account, r.QOS = kept.value("job-name"), kept.value("account"), kept.value("qos")
	r.Hold, r.Begin = kept.has("hold"), kept.value("begin")
	r.Dependent = kept.value("dependency") != ""
	if q, ok := kept["partition"]; ok {
		r.Queues = list(q.value)
		if len(r.Queues) == 0 {
			return Request{}, p.fail(q.at, slurmWritten(q), "it names no partition", "name one")
		}
	}
	if err := p.slurmSharing(&r, kept); err != nil {
		return Request{}, err
	}
	if err := p.slurmTimes(&r, kept); err != nil {
		return Request{}, err
	}
	if a, ok := kept["array"]; ok {
		var err error
		if r.Tasks, r.AtOnce, err = slurmArray(a.value); err != nil {
			return Request{},
				p.fail(a.at, slurmWritten(a), err.Error(), "write it as --array=0-15, 1,3,5 or 1-100:2%10")
		}
	}
	return r, p.fit(&r)
}

// slurmSharing parses --exclusive.
func (p *parser) slurmSharing(r *Request, kept settings) error {
	s, ok := kept["exclusive"]
	if !ok || s.value == shares {
		return nil
	}
	switch s.value {
	case "":
		p.warn(s.at,
			"--exclusive takes whole nodes: the job gets all processors of them, which the script does not tell")
	case "user", "mcs", "topo":
	default:
		return p.fail(s.at, slurmWritten(s), "not known", "write --exclusive, --exclusive=user or --exclusive=mcs")
	}
	r.Exclusive = true
	return nil
}

// slurmWritten formats a setting for messages.
func slurmWritten(s setting) string {
	switch {
	case s.at.layer == inEnvironment:
		return s.value
	case s.name == "exclusive" && s.value == shares:
		return "--oversubscribe"
	case s.value == "":
		return "--" + s.name
	}
	return fmt.Sprintf("--%s=%s", s.name, s.value)
}

// list splits a list at its commas and leaves out empty parts.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
