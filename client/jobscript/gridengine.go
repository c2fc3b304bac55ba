package jobscript

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// geOptions returns the options of qsub of Grid Engine 8.1.9, submit(1).
func geOptions() map[string]int {
	return optionTable(
		"clear cwd hard h help inherit notify noshell nostdin soft terse verbose verify V",
		"@ a ac ar A b binding c ckpt C dc display dl e hold_jid hold_jid_ad i j js jsv l m M masterq now N o ot P p "+
			"pty q R r sc shell sync S t tc u v w wd",
		"pe",
	)
}

// gridEngine reads the script in the same way as qsub of Grid Engine: first the directives of the whole file, then
// the command line.
func (p *parser) gridEngine() (Request, error) {
	args := &dash{p: p, values: geOptions(), strict: true}
	if err := args.parse(p.args()); err != nil {
		return Request{}, err
	}
	prefix := "#$"
	for _, s := range args.all {
		if s.name == "C" {
			prefix = s.value
		}
	}
	script := &dash{p: p, values: geOptions(), strict: true}
	for i, line := range p.lines {
		text, ok := strings.CutPrefix(line, prefix)
		if !ok || prefix == "" {
			continue
		}
		p.directive(i + 1)
		text, _, _ = strings.Cut(text, "#") // a # ends the line even inside quotes
		at := origin{line: i + 1}
		script.all = append(script.all, setting{name: "hard", at: at}) // the effect of -soft ends with its line
		words, err := p.words(text, at, quoting{open: true})
		if err == nil {
			err = script.parse(words)
		}
		if err != nil {
			return Request{}, err
		}
	}
	below, err := p.geLayer(script.all)
	if err != nil {
		return Request{}, err
	}
	above, err := p.geLayer(args.all)
	if err != nil {
		return Request{}, err
	}
	return p.geRequest(below, above)
}

// geLayer has the requests of the script or of the command line.
type geLayer struct {
	options   settings
	resources settings  // hard resources of -l
	queues    []setting // hard queues of -q
	anyQueue  bool      // true if -q is given, even as a soft request
}

// geLayer sorts the options. -soft and -hard apply to the following -l and -q. Soft requests are ignored, because
// they are only preferences.
func (p *parser) geLayer(all []setting) (geLayer, error) {
	var l geLayer
	var resources, others []setting
	soft := false
	for _, s := range all {
		switch {
		case s.name == "soft", s.name == "hard":
			soft = s.name == "soft"
		case s.name == "@":
			p.warn(s.at, "the options in the file %s are not read", clip(s.value))
		case s.name == "l" && !soft:
			for _, item := range list(s.value) {
				name, value, has := strings.Cut(item, "=")
				if name == "" {
					return l, p.fail(s.at, dashWritten(s), "a name is missing", "write name=value, separated by commas")
				}
				if !has {
					value = "TRUE"
				}
				resources = append(resources, setting{name: name, value: value, at: s.at})
			}
		case s.name == "q":
			l.anyQueue = true
			if !soft {
				l.queues = append(l.queues, s)
			}
		case s.name != "l":
			others = append(others, s)
		}
	}
	l.options = p.last(others, dashWritten)
	l.resources = p.last(resources, geWritten)
	return l, nil
}

// geWritten formats a resource for messages.
func geWritten(s setting) string { return "-l " + s.name + "=" + s.value }

// geRequest creates the request. The command line (above) overrides the script (below).
func (p *parser) geRequest(below, above geLayer) (Request, error) {
	for name, s := range above.options {
		below.options[name] = s
	}
	for name, s := range above.resources {
		below.resources[name] = s
	}
	queues := below.queues
	if above.anyQueue {
		queues = above.queues
	}
	options := below.options
	r := Request{Name: options.value("N"), Account: options.value("A"), Hold: options.has("h"),
		Begin: options.value("a")}
	if project := options.value("P"); project != "" {
		r.Account = project
	}
	r.Dependent = options.has("hold_jid") || options.has("hold_jid_ad")
	for _, q := range queues {
		for _, name := range list(q.value) {
			name, _, _ = strings.Cut(name, "@")
			if name == "" || strings.ContainsAny(name, "*?[|!&()") {
				p.warn(q.at, "%s: the pattern is not resolved", clip(dashWritten(q)))
				continue
			}
			r.Queues = append(r.Queues, name)
		}
	}
	for _, read := range [...]func(*Request, settings) error{p.geSlots, p.geArray} {
		if err := read(&r, options); err != nil {
			return Request{}, err
		}
	}
	if err := p.geResources(&r, below.resources); err != nil {
		return Request{}, err
	}
	return r, p.fit(&r)
}

// geSlots parses -pe name range[,range...]. A range is n, n-m, n- or -m. The ranges may be in any order
// (sge_types(5), parallel_env).
func (p *parser) geSlots(r *Request, options settings) error {
	s, ok := options["pe"]
	if !ok {
		return nil
	}
	name, ranges, _ := strings.Cut(s.value, " ")
	for i, text := range strings.Split(ranges, ",") {
		first, last, isRange := strings.Cut(text, "-")
		if !isRange {
			last = first
		}
		least, most := 1, MaxCount
		var err error
		if first != "" {
			least, err = positive(first)
		}
		if err == nil && (last != "" || first == "") {
			most, err = positive(last)
		}
		if err != nil {
			return p.fail(s.at, "-pe "+s.value, err.Error(), "write it as -pe "+clip(name)+" 4, 4-16 or 4-")
		}
		least, most = min(least, most), max(least, most)
		if i == 0 {
			r.Procs = least
		}
		r.Procs, r.ProcsMax = min(r.Procs, least), max(r.ProcsMax, most)
	}
	return nil
}

// geArray parses -t n[-m[:s]] and -tc.
func (p *parser) geArray(r *Request, options settings) error {
	s, ok := options["t"]
	atOnce, limited := options["tc"]
	var err error
	if limited {
		if r.AtOnce, err = count(atOnce.value); err != nil {
			return p.fail(atOnce.at, dashWritten(atOnce), err.Error(), "write how many tasks may run at once")
		}
	}
	if !ok {
		if r.AtOnce > 0 {
			return p.fail(atOnce.at, dashWritten(atOnce), "it is for arrays only", "give -t as well, or remove it")
		}
		return nil
	}
	bounds, by, stepped := strings.Cut(s.value, ":")
	first, last, isRange := strings.Cut(bounds, "-")
	if !isRange {
		last = first
	}
	from, err := positive(first)
	to, err2 := positive(last)
	step := 1
	if stepped {
		var err3 error
		step, err3 = positive(by)
		err2 = errors.Join(err2, err3)
	}
	if err := errors.Join(err, err2); err != nil {
		return p.fail(s.at, dashWritten(s), err.Error(),
			"write it as -t 1-100 or 1-100:2; how many may run at once is -tc")
	}
	r.Tasks = (max(from, to)-min(from, to))/step + 1
	return nil
}

// geMemory are the usual resources for memory, the most specific one first. Sites usually make them consumables of
// each slot.
var geMemory = [...]string{"h_vmem", "mem_free", "virtual_free", "h_rss", "ram_free", "memory", "mem"}

// geResources reads the time limit, memory, GPUs and sharing from -l.
func (p *parser) geResources(r *Request, resources settings) error {
	r.Procs = max(r.Procs, 1)
	for _, name := range [...]string{"h_rt", "s_rt"} {
		s, ok := resources[name]
		if !ok {
			continue
		}
		limit, unlimited, err := geTime(s.value)
		if err != nil {
			return p.fail(s.at, geWritten(s), err.Error(), "write seconds or h:m:s")
		}
		r.TimeLimit, r.Unlimited = limit, unlimited
		break
	}
	for _, name := range geMemory {
		s, ok := resources[name]
		if !ok {
			continue
		}
		bytes, err := geBytes(s.value)
		if err != nil {
			return p.fail(s.at, geWritten(s), err.Error(), "write it as 4G or 500M")
		}
		r.Memory = bytesTimes(bytes, r.Procs)
		if r.Procs > 1 {
			p.warn(s.at, "%s is counted for each slot", clip(geWritten(s)))
		}
		break
	}
	for _, name := range [...]string{"gpu", "gpus", "ngpus"} {
		s, ok := resources[name]
		if !ok || strings.EqualFold(s.value, "TRUE") && r.GPUs > 0 {
			continue
		}
		n, err := count(s.value)
		if strings.EqualFold(s.value, "TRUE") {
			n, err = 1, nil
		}
		if err != nil {
			return p.fail(s.at, geWritten(s), err.Error(), "write a whole number")
		}
		r.GPUs = n
		if r.Procs > 1 && n > 0 {
			p.warn(s.at, "%s is counted for the whole job", clip(geWritten(s)))
		}
	}
	for _, name := range [...]string{"exclusive", "excl"} {
		if v := strings.ToLower(resources.value(name)); v == "true" || v == "1" {
			r.Exclusive = true
			p.warn(resources[name].at, "%s takes whole hosts, whose size the script does not tell",
				clip(geWritten(resources[name])))
		}
	}
	return nil
}

// geTime parses a time (sge_types(5), time_specifier). It is a number of seconds in C's decimal, octal or hexadecimal
// notation, or h:m:s, in which each part may be empty.
func geTime(text string) (limit time.Duration, unlimited bool, err error) {
	if strings.EqualFold(text, "infinity") {
		return 0, true, nil
	}
	fields := strings.Split(text, ":")
	if len(fields) == 3 {
		limit, err = addUp(fields, true, time.Hour, time.Minute, time.Second)
		return limit, false, err
	}
	if len(fields) > 1 {
		return 0, false, errors.New("it must have two colons or none")
	}
	n, err := strconv.ParseUint(text, 0, 63)
	if err != nil || strings.ContainsAny(text, "_oO") || strings.HasPrefix(strings.ToLower(text), "0b") {
		return 0, false, fmt.Errorf("%q is not a time", clip(text))
	}
	limit, err = addUp([]string{strconv.FormatUint(n, 10)}, false, time.Second)
	return limit, false, err
}

// geBytes parses an amount of memory in bytes (sge_types(5), memory_specifier). It may end with k, m, g or t for
// powers of 1000, or with K, M, G or T for powers of 1024.
func geBytes(text string) (int64, error) {
	factor := int64(1)
	if n := len(text); n > 0 {
		if power := strings.IndexByte("kmgt", text[n-1]); power >= 0 {
			for range power + 1 {
				factor *= 1000
			}
			return size(text[:n-1], "", false, factor)
		}
	}
	return size(text, "KMGT", false, 1)
}
