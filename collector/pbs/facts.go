package pbs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// FactsName is the name, in the configuration, of the source of a PBS server's facts about its queues and limits.
const FactsName = "pbs-facts"

// FactsFormat returns the format of a PBS server's facts. It has no parser: a command is run, no file is read. See
// ReadFacts.
func FactsFormat() collector.Format { return collector.Format{Name: FactsName, Order: collector.Live} }

// FactsCommand returns the command to run. If program is not empty, it precedes qmgr.
func FactsCommand(program []string) []string {
	return append(slices.Clone(program), "qmgr", "-c", "print server")
}

// ReadFacts reads the output of "qmgr -c 'print server'": the commands that would set the server up as it is
// (qmgr(8B)). Queues and limits on running jobs become facts; other settings are skipped. A limit or a walltime that
// cannot be read is a bad line. A limit that the simulation does not support is recorded as a gap.
func ReadFacts(output []byte) source.FactsReading {
	r := factsReader{queues: map[string]*job.QueueFacts{}, notes: map[string]bool{}}
	number := int64(0)
	for line := range bytes.Lines(output) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		r.out.Lines++
		if err := r.line(string(line)); err != nil {
			r.out.Bad = append(r.out.Bad, source.Refused("", number, line, err))
		}
	}
	if r.out.Lines == 0 {
		r.out.Err = collector.Bad(collector.ReasonFormat, "", "it printed no setting of the server")
		return r.out
	}
	facts := &job.Facts{Limits: r.limits, Enforced: job.Enforced{Limits: true}}
	for _, q := range r.queues {
		facts.Queues = append(facts.Queues, *q)
	}
	slices.SortFunc(facts.Queues, func(a, b job.QueueFacts) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(facts.Limits, orderLimits)
	r.out.Facts = facts
	return r.out
}

// orderLimits orders limits by place and set. Within a set, limits of named owners come before limits for everybody,
// because they take precedence. Finally limits are ordered by the names of their owners.
func orderLimits(a, b job.Limit) int {
	return cmp.Or(cmp.Compare(a.Scope.Where, b.Scope.Where), cmp.Compare(a.Scope.Set, b.Scope.Set),
		compareBool(isGeneric(a.Scope), isGeneric(b.Scope)), slices.Compare(a.Scope.Users, b.Scope.Users),
		slices.Compare(a.Scope.Groups, b.Scope.Groups), slices.Compare(a.Scope.Accounts, b.Scope.Accounts))
}

func isGeneric(s *job.Scope) bool { return s.EachUser || s.EachGroup || s.EachAccount }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// factsReader collects facts.
type factsReader struct {
	out    source.FactsReading
	queues map[string]*job.QueueFacts
	limits []job.Limit
	notes  map[string]bool
}

// line reads "create queue workq", "set queue workq max_run = [u:PBS_GENERIC=5]", "set server max_run +=
// [o:PBS_ALL=9]".
func (r *factsReader) line(line string) error {
	words := strings.Fields(line)
	switch {
	case len(words) == 3 && words[0] == "create" && words[1] == "queue":
		r.queue(words[2])
		return nil
	case len(words) < 4 || words[0] != "set":
		return nil
	}
	name, rest := "", words[2:]
	if words[1] == "queue" {
		name, rest = words[2], words[3:]
	} else if words[1] != "server" {
		return nil // hooks, schedulers and resources are not used
	}
	if len(rest) < 3 || rest[1] != "=" && rest[1] != "+=" {
		return nil
	}
	value := strings.Trim(strings.Join(rest[2:], " "), `"'`)
	if name != "" {
		if err := r.queueSetting(r.queue(name), rest[0], value); err != nil {
			return err
		}
	}
	return r.limit(name, rest[0], value)
}

func (r *factsReader) queue(name string) *job.QueueFacts {
	q := r.queues[name]
	if q == nil {
		q = &job.QueueFacts{Name: name, Closed: true, Down: true} // a new queue on the server begins with these values
		r.queues[name] = q
	}
	return q
}

// queueSetting reads a setting of a queue.
func (r *factsReader) queueSetting(q *job.QueueFacts, attribute, value string) error {
	switch attribute {
	case "enabled":
		q.Closed = !strings.EqualFold(value, "true")
	case "started":
		q.Down = !strings.EqualFold(value, "true")
	case "resources_max.walltime":
		return setWalltime(&q.MaxTime, attribute, value)
	case "resources_default.walltime":
		return setWalltime(&q.DefaultTime, attribute, value)
	}
	return nil
}

func setWalltime(to *time.Duration, attribute, value string) error {
	d, ok := parseWalltime([]byte(value))
	if !ok {
		return collector.Bad(collector.ReasonField, attribute, "want [[[DD:]HH:]MM:]SS, got %q", shorten([]byte(value)))
	}
	*to = d
	return nil
}

// limit reads a limit attribute of a queue, or of the server if queue is "". These are max_run, max_run_res,
// max_queued, and the older ones (pbs_queue_attributes(7B), pbs_server_attributes(7B)). Soft limits and max_queued_res
// are not simulated; they only become notes.
func (r *factsReader) limit(queue, attribute, value string) error {
	base, resource, _ := strings.Cut(attribute, ".")
	at := limitPlace{queue: queue, attribute: attribute}
	switch base {
	case "max_run", "max_queued":
		at.submitted = base == "max_queued"
		return r.entities(&at, "", value)
	case "max_run_res":
		return r.entities(&at, resource, value)
	case "max_running":
		return r.amount(&at, "o", "PBS_ALL", "", value)
	case "max_user_run", "max_user_queuable":
		at.submitted = base == "max_user_queuable"
		return r.amount(&at, "u", "PBS_GENERIC", "", value)
	case "max_group_run":
		return r.amount(&at, "g", "PBS_GENERIC", "", value)
	case "max_user_res":
		return r.amount(&at, "u", "PBS_GENERIC", resource, value)
	case "max_group_res":
		return r.amount(&at, "g", "PBS_GENERIC", resource, value)
	case "max_queuable":
		at.submitted = true
		return r.amount(&at, "o", "PBS_ALL", "", value)
	case "max_queued_res", "max_run_soft", "max_run_res_soft", "max_user_run_soft", "max_group_run_soft",
		"max_user_res_soft", "max_group_res_soft":
		r.note(fmt.Errorf("%s: %s is not simulated", at.where(), base))
	}
	return nil
}

// note adds err to the notes, unless they already have the same text.
func (r *factsReader) note(err error) {
	if !r.notes[err.Error()] {
		r.notes[err.Error()] = true
		r.out.Notes = append(r.out.Notes, err)
	}
}

// limitPlace is the object on which a limit is set, and the attribute that sets it.
type limitPlace struct {
	queue, attribute string
	submitted        bool // the limit also counts waiting jobs
}

// where returns the name of the object for messages.
func (p *limitPlace) where() string {
	if p.queue == "" {
		return "server"
	}
	return "queue " + p.queue
}

// entities parses "[u:PBS_GENERIC=5],[u:ann=10]": a list of entities with their amounts.
func (r *factsReader) entities(at *limitPlace, resource, value string) error {
	for part := range strings.SplitSeq(value, "]") {
		part = strings.TrimLeft(part, ", ")
		if part == "" {
			continue
		}
		body, opened := strings.CutPrefix(part, "[")
		kind, rest, typed := strings.Cut(strings.TrimSpace(body), ":")
		i := strings.LastIndexByte(rest, '=')
		if !opened || !typed || i < 0 {
			return collector.Bad(collector.ReasonField, at.attribute, "want limits like [u:PBS_GENERIC=5], got %q",
				shorten([]byte(value)))
		}
		name := strings.Trim(strings.TrimSpace(rest[:i]), `"'`)
		if err := r.amount(at, kind, name, resource, strings.TrimSpace(rest[i+1:])); err != nil {
			return err
		}
	}
	return nil
}

// amount adds the limit of one entity. kind is o (overall), u (users), g (groups) or p (projects).
func (r *factsReader) amount(at *limitPlace, kind, name, resource, value string) error {
	l := job.Limit{Scope: &job.Scope{Where: at.where()}}
	if at.queue != "" {
		l.Scope.Queues = []string{at.queue}
	}
	var names *[]string
	var each *bool
	switch kind {
	case "o":
	case "u":
		names, each = &l.Scope.Users, &l.Scope.EachUser
	case "g":
		names, each = &l.Scope.Groups, &l.Scope.EachGroup
	case "p":
		names, each = &l.Scope.Accounts, &l.Scope.EachAccount
	default:
		return collector.Bad(collector.ReasonField, at.attribute, "%q is none of o, u, g and p", shorten([]byte(kind)))
	}
	switch {
	case names == nil:
	case name == "PBS_GENERIC":
		*each = true
		l.Scope.Set = at.where() + " " + at.attribute + " " + kind
	default:
		*names = []string{name}
		l.Scope.Set = at.where() + " " + at.attribute + " " + kind
	}
	known, err := r.bound(&l, at, resource, value)
	if err == nil && known {
		r.limits = append(r.limits, l)
	}
	return err
}

// bound sets the amount of a limit. known is false for a resource that the simulation does not support.
func (r *factsReader) bound(l *job.Limit, at *limitPlace, resource, value string) (known bool, err error) {
	if resource == "mem" {
		size := parseSize([]byte(value))
		if size == 0 && !strings.HasPrefix(value, "0") {
			return false, badLimit(at, value)
		}
		l.Memory = cmp.Or(size, job.NoneAllowed)
		return true, nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return false, badLimit(at, value)
	}
	most := cmp.Or(int(n), job.NoneAllowed)
	switch {
	case resource == "" && at.submitted:
		l.Submitted = most
	case resource == "":
		l.Jobs = most
	case resource == "ncpus":
		l.Procs = most
	case resource == "ngpus" || resource == "gpus":
		l.GPUs = most
	case resource == "nodect":
		l.Nodes = most
	default:
		r.note(fmt.Errorf("%s: a limit on %s is not simulated", at.where(), resource))
		return false, nil
	}
	return true, nil
}

func badLimit(at *limitPlace, value string) error {
	return collector.Bad(collector.ReasonField, at.attribute, "want a number from 0, got %q", shorten([]byte(value)))
}
