package jobscript

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// slurmSize determines the size of a Slurm job. It counts processors like NumCPUs of a waiting job in scontrol (tested
// with Slurm 22.05). In three cases scontrol shows less than the job finally gets, and slurmSize counts what the job
// gets: a range of nodes without a number of tasks, --mincpus, and --overcommit with --cpus-per-task.
type slurmSize struct {
	p       *parser
	kept    settings
	request Request

	tasks, perNode, perTask   int // 0 if not given
	nodes, nodesMax           int // as requested
	least                     int // minimum number of nodes that the job needs
	gpus, gpusNode, gpusTask  int // requested in total, on each node, for each task
	gpusSocket, perGPU, eachG int // GPUs requested on each socket; processors and tasks for each GPU
}

// read sets the fields of the request.
func (s *slurmSize) read() error {
	for _, n := range [...]struct {
		name string
		to   *int
	}{
		{"ntasks", &s.tasks}, {"ntasks-per-node", &s.perNode}, {"cpus-per-task", &s.perTask},
		{"cpus-per-gpu", &s.perGPU}, {"ntasks-per-gpu", &s.eachG},
	} {
		if err := s.positive(n.name, n.to); err != nil {
			return err
		}
	}
	for _, step := range [...]func() error{s.readNodes, s.readGPUs, s.countTasks, s.countProcs, s.readMemory} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// positive parses an option that is an integer of at least 1.
func (s *slurmSize) positive(name string, to *int) error {
	given, ok := s.kept[name]
	if !ok {
		return nil
	}
	n, err := positive(given.value)
	if err != nil {
		return s.fail(given, err, "write a whole number from 1")
	}
	*to = n
	return nil
}

func (s *slurmSize) fail(given setting, err error, hint string) error {
	return s.p.fail(given.at, slurmWritten(given), err.Error(), hint)
}

// readNodes parses --nodes and --nodelist. It lowers the number of nodes to the number of tasks, and sets least.
func (s *slurmSize) readNodes() error {
	given, ok := s.kept["nodes"]
	if ok {
		var err error
		if s.nodes, s.nodesMax, err = slurmNodes(given.value); err != nil {
			return s.fail(given, err, "write --nodes=4 or --nodes=2-4")
		}
	}
	if hosts, named := s.kept["nodelist"]; named {
		n, err := countHosts(hosts.value)
		switch {
		case err != nil:
			s.p.warn(hosts.at, "%s: %v: its nodes are not counted", clip(slurmWritten(hosts)), err)
		case ok && n > s.nodesMax:
			return s.fail(hosts, fmt.Errorf("it names %d nodes, and %s allows %d", n, slurmWritten(given), s.nodesMax),
				"change one of both")
		default:
			s.nodes = max(s.nodes, n)
			s.nodesMax = max(s.nodes, s.nodesMax)
		}
	}
	if s.tasks > 0 && s.tasks < s.nodes {
		s.p.warn(given.at, "%d tasks cannot be on %d nodes: sbatch makes it %d nodes", s.tasks, s.nodes, s.tasks)
		s.nodes = s.tasks
	}
	if s.tasks > 0 {
		s.nodesMax = min(s.nodesMax, max(s.nodes, s.tasks))
	}
	s.least = max(s.nodes, 1)
	// With a number of tasks, --ntasks-per-node is the maximum on a node.
	if s.nodes == 0 && s.perNode > 0 && s.tasks > 0 {
		s.least = (s.tasks-1)/s.perNode + 1
	}
	return nil
}

// slurmNodes parses 4, 2-4 and 1k.
func slurmNodes(text string) (least, most int, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if least, err = thousands(first); err != nil {
		return 0, 0, err
	}
	most = least
	if isRange {
		if most, err = thousands(last); err != nil {
			return 0, 0, err
		}
	}
	if most < least {
		return 0, 0, fmt.Errorf("%d is less than %d", most, least)
	}
	return least, most, nil
}

// thousands parses a positive number of nodes, with k for 1,024 or m for 1,048,576.
func thousands(text string) (int, error) {
	factor := 1
	if n := len(text); n > 0 {
		switch text[n-1] {
		case 'k', 'K':
			factor, text = 1<<10, text[:n-1]
		case 'm', 'M':
			factor, text = 1<<20, text[:n-1]
		}
	}
	n, err := positive(text)
	if err == nil && times(n, factor) > MaxCount {
		err = fmt.Errorf("more than %d nodes", MaxCount)
	}
	return times(n, factor), err
}

// countHosts counts the nodes of a list such as n[01-03,07],login1.
func countHosts(text string) (int, error) {
	total := 0
	for rest := text; rest != ""; {
		n := 1
		for {
			i := strings.IndexAny(rest, ",[")
			if i < 0 {
				rest = ""
				break
			}
			open := rest[i] == '['
			rest = rest[i+1:]
			if !open {
				break
			}
			ranges, after, closed := strings.Cut(rest, "]")
			if !closed {
				return 0, errors.New("a bracket is not closed")
			}
			of := 0
			for _, r := range strings.Split(ranges, ",") {
				from, to, _, err := indexRange(r)
				if err != nil {
					return 0, err
				}
				of = plus(of, to-from+1)
			}
			n, rest = times(n, of), after
		}
		total = plus(total, n)
	}
	if total == 0 || total > MaxCount {
		return 0, errors.New("not a list of nodes")
	}
	return total, nil
}

// countTasks derives the number of tasks if it is not given. If tasks per GPU or GPUs per task are given, the number
// follows from the GPUs. Otherwise each node has --ntasks-per-node tasks, or else one task for each of the requested
// sockets, cores and threads of a node (sbatch(1): "may implicitly set the number of tasks").
func (s *slurmSize) countTasks() error {
	nodes := max(s.nodes, 1)
	gpus := s.allGPUs(0)
	switch {
	case s.tasks > 0:
	case s.eachG > 0 && gpus > 0:
		s.tasks = times(gpus, s.eachG)
	case s.gpus > 0 && s.gpusTask > 0:
		s.tasks = max(1, s.gpus/s.gpusTask)
	case s.perNode > 0:
		s.tasks = times(s.perNode, nodes)
	default:
		layout, err := s.layout()
		if err != nil {
			return err
		}
		s.tasks = times(nodes, layout)
	}
	return nil
}

// layout returns the number of threads on each node that the options for sockets, cores and threads request. It
// returns 1 if these options do not apply.
func (s *slurmSize) layout() (int, error) {
	extra, isExtra := s.kept["extra-node-info"]
	if s.nodes != s.nodesMax || s.nodes == 0 && !isExtra {
		return 1, nil
	}
	n := 1
	for _, name := range [...]string{"sockets-per-node", "cores-per-socket", "threads-per-core"} {
		given, ok := s.kept[name]
		if !ok {
			continue
		}
		least, err := leastOf(given.value)
		if err != nil {
			return 0, s.fail(given, err, "write a whole number from 1")
		}
		n = times(n, least)
	}
	if !isExtra {
		return n, nil
	}
	fields := strings.Split(extra.value, ":")
	if len(fields) > 3 {
		return 0, s.fail(extra, errors.New("too many colons"), "write --extra-node-info=sockets:cores:threads")
	}
	for _, f := range fields {
		least, err := leastOf(f)
		if err != nil {
			return 0, s.fail(extra, err, "write --extra-node-info=sockets:cores:threads")
		}
		n = times(n, least)
	}
	return n, nil
}

// leastOf returns the minimum of a range such as 2, 2-4 or *. The * means any number, so its minimum is 1.
func leastOf(text string) (int, error) {
	least, _, _ := strings.Cut(text, "-")
	if least == "*" {
		return 1, nil
	}
	return positive(least)
}

// countProcs sets the numbers of nodes and processors.
func (s *slurmSize) countProcs() error {
	r := &s.request
	r.Nodes, r.NodesMax = s.nodes, s.nodesMax
	if s.perNode > 0 {
		r.Nodes = s.least
	}
	perTask, nodes := max(s.perTask, 1), max(s.nodes, 1)
	r.Procs = times(s.tasks, perTask)
	if s.kept.has("overcommit") {
		r.Procs = times(nodes, perTask)
	}
	if s.nodesMax > s.nodes && !s.kept.has("ntasks") {
		r.ProcsMax = times(times(s.nodesMax, max(s.perNode, 1)), perTask)
	}
	if s.perGPU > 0 {
		if s.perTask > 0 {
			return s.fail(s.kept["cpus-per-gpu"], errors.New("it contradicts --cpus-per-task"), "give one of both")
		}
		r.Procs = max(r.Procs, times(s.request.GPUs, s.perGPU))
	}
	if given, ok := s.kept["mincpus"]; ok {
		n, err := positive(given.value)
		if err != nil {
			return s.fail(given, err, "write a whole number from 1")
		}
		r.Procs = max(r.Procs, times(n, nodes))
	}
	return nil
}

// readMemory reads the amount of memory. Options of only one kind may be given, except that an option in the
// environment is overridden by one of another kind elsewhere.
func (s *slurmSize) readMemory() error {
	var given []setting
	for _, name := range [...]string{"mem", "mem-per-cpu", "mem-per-gpu"} {
		if g, ok := s.kept[name]; ok {
			given = append(given, g)
		}
	}
	if len(given) > 1 {
		var others []setting
		for _, g := range given {
			if g.at.layer != inEnvironment {
				others = append(others, g)
			}
		}
		if len(others) != 1 {
			return s.fail(given[1], fmt.Errorf("it contradicts %s (%s)", slurmWritten(given[0]),
				s.p.place(given[0].at)), "sbatch takes only one of --mem, --mem-per-cpu and --mem-per-gpu")
		}
		given = others
	}
	for _, g := range given {
		bytes, err := size(g.value, "KMGT", true, 1<<20)
		if err == nil && bytes > math.MaxInt64-1<<20 {
			err = errors.New("more than there is")
		}
		if err != nil {
			return s.fail(g, err, "write a whole number of megabytes, or with K, M, G or T")
		}
		bytes = (bytes + 1<<20 - 1) >> 20 << 20 // round up to megabytes, as sbatch does
		of := s.least
		switch g.name {
		case "mem":
			if bytes == 0 {
				s.p.warn(g.at, "--mem=0 takes all memory of the nodes, which the script does not tell")
			}
		case "mem-per-cpu":
			of = s.request.Procs
		case "mem-per-gpu":
			of = s.request.GPUs
		}
		s.request.Memory = bytesTimes(bytes, of)
	}
	return nil
}
