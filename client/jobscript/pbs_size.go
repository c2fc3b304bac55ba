package jobscript

import (
	"errors"
	"fmt"
	"strings"
)

// pbsSize determines the size of a PBS job. The job requests chunks (-l select), nodes (-l nodes) or processors (-l
// procs, -l ncpus).
type pbsSize struct {
	p       *parser
	kept    settings
	request *Request
	memory  int64 // memory of the chunks
}

// pbsKnown are usual resources that do not change the size of the job. pbsSize.read handles those that do.
var pbsKnown = [...]string{
	"arch", "cput", "epilogue", "feature", "file", "flags", "host", "mpiprocs", "nice", "ompthreads", "opsys", "other",
	"partition", "pcput", "prologue", "pvmem", "software", "vmem", "walltime", "qos", "nodect", "max_walltime",
	"min_walltime",
}

// read sets the fields of the request.
func (s *pbsSize) read() error {
	chunks, byChunks := s.kept["l:select"]
	nodes, byNodes := s.kept["l:nodes"]
	for _, name := range [...]string{"l:nodes", "l:ncpus", "l:procs", "l:mem", "l:ngpus"} {
		if other, ok := s.kept[name]; ok && byChunks {
			return s.fail(other, fmt.Errorf("it contradicts %s (%s)", clip(pbsWritten(chunks)), s.p.place(chunks.at)),
				"put it into the chunks, or remove one of both")
		}
	}
	r := s.request
	var err error
	switch {
	case byChunks:
		err = s.parts(chunks, "ncpus")
	case byNodes:
		err = s.parts(nodes, "ppn")
	}
	if err != nil {
		return err
	}
	procs, err := s.counted("procs", "ncpus", "mppwidth", "size")
	if err != nil {
		return err
	}
	if byNodes && procs > r.Procs {
		s.p.warn(nodes.at, "%s and a number of processors are given: the larger counts", clip(pbsWritten(nodes)))
	}
	r.Procs = max(r.Procs, procs, 1)
	gpus, err := s.counted("ngpus", "gpus")
	if err != nil {
		return err
	}
	r.GPUs = max(r.GPUs, gpus)
	s.sharing()
	s.unknown()
	return s.readMemory()
}

func (s *pbsSize) fail(given setting, err error, hint string) error {
	return s.p.fail(given.at, pbsWritten(given), err.Error(), hint)
}

// counted returns the value of the first of the named resources that is given.
func (s *pbsSize) counted(names ...string) (int, error) {
	for _, name := range names {
		given, ok := s.kept["l:"+name]
		if !ok {
			continue
		}
		n, err := positive(given.value)
		if err != nil {
			return 0, s.fail(given, err, "write a whole number from 1")
		}
		return n, nil
	}
	return 0, nil
}

// parts parses chunks or nodes. Chunks have the form [N:]ncpus=8[:mem=4gb...][+...]. Nodes have the form N or a
// name[:ppn=8][:property...][+...]. Each requests one processor by default.
func (s *pbsSize) parts(given setting, procs string) error {
	r := s.request
	spec, suffix, _ := strings.Cut(given.value, "#") // in Torque the suffix applies to all nodes
	if suffix == "excl" {
		r.Exclusive = true
	}
	for _, part := range strings.Split(spec, "+") {
		n, each, err := s.part(part, procs)
		if err != nil {
			return s.fail(given, err, "write it as select=2:ncpus=8:mem=4gb or nodes=2:ppn=8")
		}
		r.Nodes, r.Procs = plus(r.Nodes, n), plus(r.Procs, times(n, each.procs))
		r.GPUs = plus(r.GPUs, times(n, each.gpus))
		s.memory = bytesPlus(s.memory, bytesTimes(each.memory, n))
	}
	if r.Nodes == 0 {
		return s.fail(given, errors.New("it asks for nothing"), "ask for 1 or more")
	}
	return nil
}

// pbsPart is the request of one chunk or node.
type pbsPart struct {
	procs, gpus int
	memory      int64
}

// part parses one kind of chunk or node. It returns the number of such chunks or nodes, and the request of each.
func (s *pbsSize) part(text, procs string) (int, pbsPart, error) {
	each, n := pbsPart{procs: 1}, 1
	if text == "" {
		return 0, each, errors.New("a part is empty")
	}
	for i, item := range strings.Split(text, ":") {
		name, value, has := strings.Cut(item, "=")
		if !has {
			if number, ok := digits(name); ok && i == 0 {
				n = int(min(number, MaxCount+1))
			}
			if name == "excl" {
				s.request.Exclusive = true
			}
			continue
		}
		var err error
		switch name {
		case "ncpus", "ppn":
			if name != procs {
				return 0, each, fmt.Errorf("%s= has no meaning here, but %s=", name, procs)
			}
			each.procs, err = positive(value)
		case "ngpus", "gpus":
			each.gpus, err = count(value)
		case "gpu_type", "gpu_model":
			s.request.GPUType = value
		case "mem":
			each.memory, err = pbsBytes(value)
		}
		if err != nil {
			return 0, each, fmt.Errorf("%s: %w", item, err)
		}
	}
	return n, each, nil
}

// sharing sets Exclusive according to -l place, [arrangement][:sharing][:grouping], or the equivalent option of Moab.
// It warns about an exclusive job.
func (s *pbsSize) sharing() {
	for _, item := range strings.Split(s.kept.value("l:place"), ":") {
		if item == "excl" || item == "exclhost" {
			s.request.Exclusive = true
		}
	}
	if strings.EqualFold(s.kept.value("l:naccesspolicy"), "singlejob") {
		s.request.Exclusive = true
	}
	if s.request.Exclusive {
		s.p.warn(origin{},
			"the job has its nodes alone: it gets all processors of them, which the script does not tell")
	}
}

// unknown adds warnings about resources that are not counted. It also sets the type of the GPUs if a resource names it.
func (s *pbsSize) unknown() {
	read := []string{"select", "nodes", "ncpus", "procs", "mppwidth", "size", "mem", "pmem", "ngpus", "gpus",
		"gpu_type", "gpu_model", "place", "naccesspolicy"}
	known := map[string]bool{}
	for _, name := range append(read, pbsKnown[:]...) {
		known[name] = true
	}
	for _, name := range sorted(s.kept) {
		if resource, ok := strings.CutPrefix(name, "l:"); ok && !known[resource] {
			s.p.warn(s.kept[name].at, "resource %s is not known here, and not counted", clip(resource))
		}
	}
	for _, name := range [...]string{"gpu_type", "gpu_model"} {
		if s.request.GPUType == "" {
			s.request.GPUType = s.kept.value("l:" + name)
		}
	}
}

// readMemory reads the memory of the job (mem). If it is not given, it reads the memory of each process (pmem),
// otherwise the memory of the chunks.
func (s *pbsSize) readMemory() error {
	s.request.Memory = s.memory
	for _, name := range [...]string{"pmem", "mem"} {
		given, ok := s.kept["l:"+name]
		if !ok {
			continue
		}
		bytes, err := pbsBytes(given.value)
		if err != nil {
			return s.fail(given, err, "write it as 4gb or 500mb")
		}
		if name == "pmem" {
			bytes = bytesTimes(bytes, s.request.Procs)
		}
		s.request.Memory = bytes
	}
	return nil
}

// pbsBytes parses an amount of memory in bytes (pbs_resources(7B)). It may end with k, m, g, t or p, followed by b
// for bytes or w for words of 8 bytes.
func pbsBytes(text string) (int64, error) {
	if s := strings.ToLower(text); strings.HasSuffix(s, "w") {
		words, err := size(strings.TrimSuffix(s, "w"), "KMGTP", false, 1)
		return bytesTimes(words, 8), err
	}
	if n := len(text); n > 1 && (text[n-1] == 'b' || text[n-1] == 'B') {
		text = text[:n-1]
	}
	return size(text, "KMGTP", false, 1)
}
