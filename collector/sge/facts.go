package sge

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// FactsName is the name, in the configuration, of the source of Grid Engine's facts: its resource quotas.
const FactsName = "gridengine-facts"

// FactsFormat returns the format of Grid Engine's facts. It has no parser: a command is run, no file is read. See
// ReadFacts.
func FactsFormat() collector.Format { return collector.Format{Name: FactsName, Order: collector.Live} }

// FactsCommand returns the command to run. If program is not empty, it precedes qconf.
func FactsCommand(program []string) []string { return append(slices.Clone(program), "qconf", "-srqs") }

// FactsEnv returns the environment variables of the command. With them long lines are not wrapped. Wrapped lines can
// be read, too.
func FactsEnv() []string { return []string{"SGE_SINGLE_LINE=1"} }

// NoQuotas is the message with which qconf fails if there are no resource quotas.
const NoQuotas = "No resource quota set found"

// ReadFacts reads the output of "qconf -srqs": all resource quota sets (sge_resource_quota(5)). In each set the first
// rule that matches a job counts. Rules on slots for users, projects and queues become facts. A rule for hosts,
// parallel environments or access lists is recorded as a gap and left out with the following rules of its set, because
// it is unknown which jobs match it. After a bad line, too, the following rules of the set are left out. Sets that are
// not enabled are skipped.
func ReadFacts(output []byte) source.FactsReading {
	output = unwrap(output)
	r := quotaReader{}
	number := int64(0)
	for line := range bytes.Lines(output) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		r.out.Lines++
		if err := r.line(string(line)); err != nil {
			r.out.Bad = append(r.out.Bad, source.Refused("", number, line, err))
			r.lost = true
		}
	}
	r.out.Facts = &job.Facts{Limits: r.limits, Enforced: job.Enforced{Limits: true}}
	return r.out
}

// unwrap joins lines that qconf has wrapped.
func unwrap(output []byte) []byte {
	var out []byte
	for {
		head, tail, wrapped := bytes.Cut(output, []byte("\\\n"))
		out = append(out, head...)
		if !wrapped {
			return out
		}
		output = bytes.TrimLeft(tail, " \t")
	}
}

// quotaReader collects limits.
type quotaReader struct {
	out     source.FactsReading
	limits  []job.Limit
	name    string // name of the set
	enabled bool
	lost    bool // a rule of the set is left out, so that the following rules are too
}

// line reads one line of a set.
func (r *quotaReader) line(line string) error {
	key, value, _ := strings.Cut(line, " ")
	switch value = strings.TrimSpace(value); key {
	case "{":
		r.name, r.enabled, r.lost = "", false, false
	case "name":
		r.name = value
	case "enabled":
		r.enabled = strings.EqualFold(value, "true") || value == "1"
	case "limit":
		if r.enabled && !r.lost {
			return r.rule(value)
		}
	case "}", "description":
	default:
		return collector.Bad(collector.ReasonFormat, "", "want a line of a resource quota set, got %q",
			shorten([]byte(line)))
	}
	return nil
}

// filterKeys are the keywords of a rule, in their order.
var filterKeys = [...]string{"name", "users", "projects", "pes", "queues", "hosts", "to"}

// rule reads "users {*} queues short.q to slots=4".
func (r *quotaReader) rule(text string) error {
	parts := map[string]string{}
	key := ""
	for word := range strings.FieldsSeq(text) {
		named := key != "name" || parts["name"] != "" // a rule may have the name of a filter
		if at := slices.Index(filterKeys[:], word); named && at > slices.Index(filterKeys[:], key) {
			key = word
			continue
		}
		if key == "" {
			return collector.Bad(collector.ReasonField, "limit", "want filters and to, got %q", shorten([]byte(text)))
		}
		parts[key] += word
	}
	if parts["to"] == "" {
		return collector.Bad(collector.ReasonField, "limit", "it has no limits: %q", shorten([]byte(text)))
	}
	where := "resource quota " + r.name
	for _, key := range [...]string{"pes", "hosts"} {
		if f := strings.Trim(parts[key], "{}"); f != "" && f != "*" || key == "hosts" && parts[key] == "{*}" {
			return r.leaveOut(where, "is for some "+key)
		}
	}
	if strings.Contains(parts["users"], "@") {
		return r.leaveOut(where, "is for an access list")
	}
	scope := job.Scope{Where: where, Set: where}
	scope.Users, scope.EachUser = filter(parts["users"])
	scope.Accounts, scope.EachAccount = filter(parts["projects"])
	if strings.Trim(parts["projects"], "{}") == "*" { // the filter does not match jobs without a project
		scope.Accounts = []string{"*"}
	}
	scope.Queues, scope.EachQueue = filter(parts["queues"])
	return r.amounts(scope, parts["to"])
}

// leaveOut records that a rule and the rules after it in its set are not simulated. Its error is always nil.
func (r *quotaReader) leaveOut(where, why string) error {
	r.lost = true
	r.out.Notes = append(r.out.Notes, fmt.Errorf("%s: a rule %s; it and the rules after it are not simulated",
		where, why))
	return nil
}

// filter parses a list of names. It returns no names for "*" and for an empty list. each is true for "{...}", which
// bounds each of the names separately.
func filter(text string) (names []string, each bool) {
	inner, each := strings.CutPrefix(text, "{")
	if inner = strings.TrimSuffix(inner, "}"); inner == "" || inner == "*" {
		return nil, each
	}
	for name := range strings.SplitSeq(inner, ",") {
		if name = strings.Trim(name, `"`); name != "" {
			names = append(names, name)
		}
	}
	return names, each
}

// amounts reads the limits of a rule, such as "slots=4,h_vmem=8G", and adds the one on slots. Limits on other resources
// are not simulated, because the logs lack the jobs' requests for them. A rule without slots still counts as the first
// match of its set.
func (r *quotaReader) amounts(scope job.Scope, text string) error {
	l := job.Limit{Scope: &scope}
	for pair := range strings.SplitSeq(text, ",") {
		resource, value, _ := strings.Cut(pair, "=")
		if resource != "slots" && resource != "s" {
			r.out.Notes = append(r.out.Notes, fmt.Errorf("%s: a limit on %s is not simulated", scope.Where, resource))
			continue
		}
		if strings.Contains(value, "$") {
			return r.leaveOut(scope.Where, "depends on the host")
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || n < 0 || n > 1<<31-1 {
			return collector.Bad(collector.ReasonField, "limit", "want a number of slots, got %q",
				shorten([]byte(value)))
		}
		l.Procs = cmp.Or(int(n), job.NoneAllowed)
	}
	r.limits = append(r.limits, l)
	return nil
}
