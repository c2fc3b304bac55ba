package slurm

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// sinfoFields are the requested columns, by their names in sinfo(1) under --Format. One line stands for the nodes of
// one partition that have equal values in all columns.
var sinfoFields = [...]string{"PartitionName", "NodeList", "CPUs", "Memory", "Gres", "Features", "StateComplete",
	"Threads"}

// sinfoCommand returns the sinfo command. It includes hidden partitions, and combines nodes into a line only if all
// columns are equal.
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

// readNodes reads the output of sinfo. A line has equal nodes of one partition, or of several partitions separated by
// commas.
func (f *Facts) readNodes(each eachRecord) func() {
	nodes := map[string]*node{}
	each(func(get record) error {
		procs, ok := count(get("CPUs"))
		if !ok || procs == 0 {
			return badNumber("CPUs", get("CPUs"))
		}
		memory, ok := logtext.Digits(get("Memory"))
		if !ok {
			return badNumber("Memory", get("Memory"))
		}
		gpus, gpuType := gres(get("Gres")).times(1)
		what := node{down: isDown(string(get("StateComplete"))), NodeResources: job.NodeResources{
			Procs: int(procs), Memory: min(memory, maxMemory>>20) << 20, GPUs: gpus, GPUType: gpuType,
			Features: features(get("Features")), Threads: number(get("Threads")),
		}}
		names, err := nodesOf(get("NodeList"))
		if err != nil || len(nodes) > maxListed {
			return cmp.Or(err, error(collector.Bad(collector.ReasonField, "nodes", "more than %d nodes", maxListed)))
		}
		queues := f.names(get("PartitionName"))
		for _, name := range names {
			n := nodes[name]
			if n == nil {
				n = &node{down: what.down, NodeResources: what.NodeResources}
				nodes[name] = n
			}
			for _, queue := range queues {
				if i, found := slices.BinarySearch(n.queues, queue); !found {
					n.queues = slices.Insert(n.queues, i, queue)
				}
			}
		}
		return nil
	})
	return func() { f.nodes = nodes }
}

// features returns the sorted names without duplicates; "" if there are none.
func features(text []byte) string {
	if string(text) == "(null)" || string(text) == "N/A" {
		return ""
	}
	names := strings.Split(string(text), ",")
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// isDown reports whether a node with the given state cannot run jobs now. A state is a text such as
// "idle+drain+not_responding" (node_state_string_complete in src/common/slurm_protocol_defs.c). Nodes that are powered
// down or powering up count as available, since slurmctld starts them for a job. So do nodes that are reserved or in
// maintenance, because these are reported as outages.
func isDown(state string) bool {
	for flag := range strings.SplitSeq(strings.ToUpper(state), "+") {
		switch strings.TrimRight(flag, "*~#!%$@^-") { // signs of the short forms, see sinfo(1)
		case "DOWN", "ERROR", "FUTURE", "UNKNOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "NOT_RESPONDING",
			"INVALID_REG", "INVAL", "POWERING_DOWN", "REBOOT_ISSUED", "REBOOT":
			return true
		}
		if strings.HasSuffix(flag, "*") { // the node does not respond
			return true
		}
	}
	return false
}

// groups combines equal nodes in the same partitions. A group has the names of its nodes that are not down, unless the
// machine has more than job.MostNamed nodes.
func (f *Facts) groups() []job.NodeGroup {
	type kind struct {
		queues string
		job.NodeResources
	}
	found := map[kind]*job.NodeGroup{}
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
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
		switch {
		case n.down:
			g.Down++
		case len(f.nodes) <= job.MostNamed:
			g.Names = append(g.Names, name)
		}
	}
	kinds := slices.SortedFunc(maps.Keys(found), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.queues, b.queues), cmp.Compare(a.Features, b.Features),
			cmp.Compare(a.Procs, b.Procs), cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.GPUType, b.GPUType),
			cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.Threads, b.Threads))
	})
	var groups []job.NodeGroup
	for _, k := range kinds {
		groups = append(groups, *found[k])
	}
	return groups
}

// reservation has the fields of a reservation that scontrol shows.
type reservation struct {
	job.Outage
	nodes []string
}

// readReservations reads "scontrol show reservation".
func (f *Facts) readReservations(each eachRecord) func() {
	var all []reservation
	each(func(get record) error {
		name := get("ReservationName")
		if name == nil {
			return collector.Bad(collector.ReasonFormat, "", "want a ReservationName")
		}
		r := reservation{Outage: job.Outage{Name: string(name), Queue: f.name(get("PartitionName"))}}
		for _, w := range [...]struct {
			key  string
			into *time.Time
		}{{"StartTime", &r.From}, {"EndTime", &r.Until}} {
			at, err := f.parser.when(w.key, get(w.key))
			if err != nil {
				return err
			}
			*w.into = at
		}
		r.Flags = flags(get("Flags"))
		r.Maintenance = slices.Contains(r.Flags, "MAINT")
		// The times of a floating reservation move with the clock, which would cause an event each minute.
		if slices.Contains(r.Flags, "TIME_FLOAT") {
			r.From, r.Until = r.From.Truncate(floatStep), r.Until.Add(floatStep).Truncate(floatStep)
		}
		r.Users, r.DeniedUsers = allowed(get("Users"))
		r.Accounts, r.DeniedAccounts = allowed(get("Accounts"))
		taken, err := parseTRES("TRES", get("TRES"))
		if err != nil {
			return err
		}
		if r.Procs = taken.procs; r.Procs == 0 {
			r.Procs = number(get("CoreCnt"))
		}
		if r.nodes, err = nodesOf(get("Nodes")); err != nil {
			return err
		}
		if len(r.nodes) > 0 {
			r.NodeList = string(get("Nodes"))
		}
		all = append(all, r)
		return nil
	})
	slices.SortStableFunc(all, func(a, b reservation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.From.Compare(b.From))
	})
	return func() { f.reservations = all }
}

// floatStep is the precision of the times of a floating reservation. Such a reservation stays at a constant distance
// in the future.
const floatStep = 15 * time.Minute

// allowed splits a list into two sorted lists of names: those without a minus in front, which are allowed, and those
// with a minus, which are excluded.
func allowed(text []byte) (may, not []string) {
	if string(text) == "(null)" {
		return nil, nil
	}
	for name := range strings.SplitSeq(string(text), ",") {
		if denied, ok := strings.CutPrefix(name, "-"); ok {
			not = append(not, denied)
		} else if name != "" {
			may = append(may, name)
		}
	}
	slices.Sort(may)
	slices.Sort(not)
	return slices.Compact(may), slices.Compact(not)
}

// flags returns the words of a list, sorted. Of a word with a value, such as PURGE_COMP=00:05:00, it returns the part
// before the "=".
func flags(text []byte) (words []string) {
	for word := range strings.SplitSeq(string(text), ",") {
		if word, _, _ = strings.Cut(strings.TrimSpace(word), "="); word != "" && word != "(null)" {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// outages returns the reservations that take resources and have not ended at the given time. In a current reservation
// only nodes that are not down count, because the capacity already lacks those that are down. Memory and GPUs count if
// whole nodes are taken.
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
		if all.Procs == 0 { // it has only licenses, or nodes without a partition
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
		if len(f.nodes) <= job.MostNamed {
			o.Names = slices.Sorted(slices.Values(r.nodes))
		}
		out = append(out, o)
	}
	return out
}
