package slurm

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// sinfoFields are the columns that are asked for, as sinfo(1) names them under --Format. A line is the nodes of one
// partition that are alike in all of them.
var sinfoFields = [...]string{"PartitionName", "NodeList", "CPUs", "Memory", "Gres", "Features", "StateComplete"}

// sinfoCommand returns the call: hidden partitions included, with nodes in one line only if they are alike.
func sinfoCommand() []string {
	const sep = squeueSeparator
	return []string{"sinfo", "--noheader", "--all", "--exact",
		"--Format=" + strings.Join(sinfoFields[:], ":"+sep+",") + ":" + sep}
}

// node is one node of the machine.
type node struct {
	queues []string // sorted
	down   bool
	job.NodeResources
}

// readNodes reads sinfo.
func (f *Facts) readNodes(each eachLine) func() {
	nodes := map[string]*node{}
	each(func(line []byte) error {
		fields := bytes.Split(line, []byte(squeueSeparator))
		if len(fields) != len(sinfoFields)+1 || len(fields[len(sinfoFields)]) > 0 {
			return collector.Bad(collector.ReasonFormat, "",
				"want %d fields, each with the separator 0x1f after it, got %d: not what this call of sinfo prints",
				len(sinfoFields), len(fields)-1)
		}
		for i := range fields {
			fields[i] = bytes.TrimSpace(fields[i])
		}
		procs, ok := count(fields[2])
		if !ok || procs == 0 {
			return badNumber("CPUs", fields[2])
		}
		memory, ok := logtext.Digits(fields[3])
		if !ok {
			return badNumber("Memory", fields[3])
		}
		gpus, gpuType := gres(fields[4]).times(1)
		what := node{down: isDown(string(fields[6])), NodeResources: job.NodeResources{
			Procs: int(procs), Memory: min(memory, maxMemory>>20) << 20, GPUs: gpus, GPUType: gpuType,
			Features: features(fields[5]),
		}}
		names, err := nodesOf(fields[1])
		if err != nil || len(nodes) > maxListed {
			return cmp.Or(err, error(collector.Bad(collector.ReasonField, "nodes", "more than %d nodes", maxListed)))
		}
		queue := f.parser.known(fields[0])
		for _, name := range names {
			n := nodes[name]
			if n == nil {
				n = &node{down: what.down, NodeResources: what.NodeResources}
				nodes[name] = n
			}
			if i, found := slices.BinarySearch(n.queues, queue); !found && queue != "" {
				n.queues = slices.Insert(n.queues, i, queue)
			}
		}
		return nil
	})
	return func() { f.nodes = nodes }
}

// features returns the names sorted, each once; "" where there are none.
func features(text []byte) string {
	if string(text) == "(null)" || string(text) == "N/A" {
		return ""
	}
	names := strings.Split(string(text), ",")
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// isDown reports whether a node of a state ("idle+drain+not_responding", as node_state_string_complete in
// src/common/slurm_protocol_defs.c writes it) can run no jobs now. Nodes that are powered down or up count as able,
// since slurmctld starts them for a job; reserved ones, and those in maintenance, are reported as outages.
func isDown(state string) bool {
	for flag := range strings.SplitSeq(strings.ToUpper(state), "+") {
		switch strings.TrimRight(flag, "*~#!%$@^-") { // signs of the short forms, sinfo(1)
		case "DOWN", "ERROR", "FUTURE", "UNKNOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "NOT_RESPONDING",
			"INVALID_REG", "INVAL", "POWERING_DOWN", "REBOOT_ISSUED", "REBOOT":
			return true
		}
		if strings.HasSuffix(flag, "*") { // does not respond
			return true
		}
	}
	return false
}

// groups joins the nodes that are alike and in the same partitions.
func (f *Facts) groups() []job.NodeGroup {
	type kind struct {
		queues string
		job.NodeResources
	}
	found := map[kind]*job.NodeGroup{}
	for _, n := range f.nodes {
		k := kind{strings.Join(n.queues, ","), n.NodeResources}
		if f.general.noMemory {
			k.Memory = 0
		}
		g := found[k]
		if g == nil {
			g = &job.NodeGroup{Queues: n.queues, Node: k.NodeResources}
			found[k] = g
		}
		g.Count++
		if n.down {
			g.Down++
		}
	}
	kinds := slices.SortedFunc(maps.Keys(found), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.queues, b.queues), cmp.Compare(a.Features, b.Features),
			cmp.Compare(a.Procs, b.Procs), cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.GPUType, b.GPUType),
			cmp.Compare(a.GPUs, b.GPUs))
	})
	var groups []job.NodeGroup
	for _, k := range kinds {
		groups = append(groups, *found[k])
	}
	return groups
}

// reservation is a reservation as scontrol prints it.
type reservation struct {
	job.Outage
	nodes []string
}

// readReservations reads "scontrol show reservation".
func (f *Facts) readReservations(each eachLine) func() {
	var all []reservation
	each(func(line []byte) error {
		if bytes.HasPrefix(line, []byte("No reservations in the system")) {
			return nil
		}
		name := wordOf(line, "ReservationName")
		if name == nil {
			return collector.Bad(collector.ReasonFormat, "", "want ReservationName=..., got %q", shorten(line))
		}
		r := reservation{Outage: job.Outage{Name: string(name)}}
		for _, w := range [...]struct {
			key  string
			into *time.Time
		}{{"StartTime", &r.From}, {"EndTime", &r.Until}} {
			at, err := f.parser.when(w.key, wordOf(line, w.key))
			if err != nil {
				return err
			}
			*w.into = at
		}
		flags := strings.Split(string(wordOf(line, "Flags")), ",")
		r.Maintenance = slices.Contains(flags, "MAINT")
		if slices.Contains(flags, "TIME_FLOAT") { // it moves on with the clock: not an event each minute
			r.From, r.Until = r.From.Truncate(floatStep), r.Until.Add(floatStep).Truncate(floatStep)
		}
		r.Users, r.Accounts = allowed(wordOf(line, "Users")), allowed(wordOf(line, "Accounts"))
		taken, err := parseTRES("TRES", wordOf(line, "TRES"))
		if err != nil {
			return err
		}
		if r.Procs = taken.procs; r.Procs == 0 {
			r.Procs = number(wordOf(line, "CoreCnt"))
		}
		if r.nodes, err = nodesOf(wordOf(line, "Nodes")); err != nil {
			return err
		}
		all = append(all, r)
		return nil
	})
	slices.SortStableFunc(all, func(a, b reservation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.From.Compare(b.From))
	})
	return func() { f.reservations = all }
}

// floatStep is the precision of the times of a floating reservation, which is always equally far in the future.
const floatStep = 15 * time.Minute

// allowed returns the names of a list, sorted. Those with a minus in front are the only ones that may not: then nobody
// is named.
func allowed(text []byte) []string {
	if string(text) == "(null)" {
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(string(text), ",") {
		if name != "" && name[0] != '-' {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// outages returns the reservations that take something, as they are at an instant. Of one under way only nodes that are
// not down count: the others are gone already. Memory and GPUs count where the nodes are taken whole.
func (f *Facts) outages(now time.Time) []job.Outage {
	var out []job.Outage
	for _, r := range f.reservations {
		if !r.Until.IsZero() && !r.Until.After(now) {
			continue
		}
		o := r.Outage
		var all, up job.NodeResources // sums
		queues := map[string]bool{}
		for _, name := range r.nodes {
			n := f.nodes[name]
			if n == nil {
				continue
			}
			for _, q := range n.queues {
				queues[q] = true
			}
			all.Procs += n.Procs
			if n.down && !r.From.After(now) {
				continue
			}
			o.Nodes++
			up.Procs, up.Memory, up.GPUs = up.Procs+n.Procs, up.Memory+n.Memory, up.GPUs+n.GPUs
		}
		if all.Procs == 0 { // licenses, or nodes that are in no partition
			continue
		}
		if f.general.noMemory {
			up.Memory = 0
		}
		if o.Procs >= all.Procs || o.Procs == 0 {
			o.Procs, o.Memory, o.GPUs = up.Procs, up.Memory, up.GPUs
		} else {
			o.Procs = min(o.Procs, up.Procs)
		}
		o.Queues = slices.Sorted(maps.Keys(queues))
		out = append(out, o)
	}
	return out
}
