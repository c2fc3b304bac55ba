package pbs

import (
	"bytes"
	"math"
	"time"

	"github.com/waitcast/waitcast/collector/logtext"
)

// maxProcs is the maximum number of processors. No machine has more, so a larger size is refused after parsing.
const maxProcs = math.MaxInt32

// size returns the processors of a record, 0 if it has none.
//
// It is the maximum of all requested and allocated numbers of processors. Servers often add a default of one resource
// beside another (Torque: ncpus=1 beside nodes=4:ppn=8), and nodes=2 can get more than one processor each. Every
// resource counts processors, so the largest number is the intended one. In records of a job's next phase only
// exec_host counts, because it shows the processors that the job still has.
func (f *fields) size() int64 {
	if f.hosts > 0 && (f.letter == 's' || f.letter == 'c') {
		return f.hosts
	}
	width := f.width
	if f.depth > 1 { // a Cray process with mppdepth threads has depth processors
		width = product(width, f.depth)
	}
	return max(f.ncpus, f.procs, f.nodes, f.sel, width, f.plain, f.slots, f.hosts)
}

// nodeCount returns the number of nodes, 0 if the record has none.
func (f *fields) nodeCount() int {
	n := f.nodect
	if n == 0 {
		n = max(f.nodesCount, f.selCount)
	}
	if n == 0 {
		n = f.nHosts
	}
	return int(min(n, maxProcs))
}

// product multiplies counts. A result above maxProcs becomes maxProcs + 1.
func product(a, b int64) int64 {
	if a > maxProcs || b > maxProcs {
		return maxProcs + 1
	}
	return min(a*b, maxProcs+1)
}

// sum adds counts. A result above maxProcs becomes maxProcs + 1.
func sum(a, b int64) int64 { return min(min(a, maxProcs+1)+min(b, maxProcs+1), maxProcs+1) }

// parseNodes counts the processors and nodes of Resource_List.nodes: node_spec[+node_spec...]. Each node_spec is a
// number of nodes (default 1) or a host, followed by properties. The properties ppn=, cpp= and ncpus= are numbers of
// processors. The text may end with "#shared" and the like (pbs_resources(7B) of Torque and OpenPBS).
func parseNodes(spec []byte) (procs, nodes int64, ok bool) {
	if i := bytes.IndexByte(spec, '#'); i >= 0 {
		spec = spec[:i]
	}
	for len(spec) > 0 {
		part, rest, _ := bytes.Cut(spec, []byte("+"))
		spec = rest
		n, each := int64(1), int64(1)
		for first := true; len(part) > 0; first = false {
			item, more, _ := bytes.Cut(part, []byte(":"))
			part = more
			if first && len(item) > 0 && isDigit(item[0]) {
				if count, isCount := logtext.Digits(item); isCount {
					n = count
				}
				continue
			}
			if each, ok = perNode(item, each); !ok {
				return 0, 0, false
			}
		}
		procs, nodes = sum(procs, product(n, each)), sum(nodes, n)
	}
	return procs, nodes, true
}

// perNode returns `each`, the processors per node, as updated by a property. It returns false if the property is not
// valid.
func perNode(item []byte, each int64) (int64, bool) {
	key, value, found := bytes.Cut(item, []byte("="))
	if !found {
		return each, true
	}
	switch string(key) {
	case "ppn", "cpp": // processes per node, processors per process
		n, ok := logtext.Digits(value)
		return product(each, n), ok
	case "ncpus": // processors per node
		n, ok := logtext.Digits(value)
		return max(each, n), ok
	}
	return each, true
}

// parseSelect counts the processors and chunks of Resource_List.select: [N:]chunk[+[N:]chunk...]. Each chunk is a list
// of resources. The resource ncpus is the number of processors of one chunk. If it is missing, it counts as 1, the
// default of default_chunk (pbs_resources(7B) of OpenPBS).
func parseSelect(spec []byte) (procs, chunks int64, ok bool) {
	for len(spec) > 0 {
		part, rest, _ := bytes.Cut(spec, []byte("+"))
		spec = rest
		n, each := int64(1), int64(1)
		for first := true; len(part) > 0; first = false {
			item, more, _ := bytes.Cut(part, []byte(":"))
			part = more
			if count, isCount := logtext.Digits(item); first && isCount {
				n = count
				continue
			}
			if value, found := bytes.CutPrefix(item, []byte("ncpus=")); found {
				if each, ok = logtext.Digits(value); !ok {
					return 0, 0, false
				}
			}
		}
		procs, chunks = sum(procs, product(n, each)), sum(chunks, n)
	}
	return procs, chunks, true
}

// countHosts counts the processors and hosts of exec_host: slots joined by "+". A slot is host/N (one processor),
// host/N*P (P of them, OpenPBS) or host/LIST, where the list has numbers and ranges such as "0-3,7" (Torque 4.2 and
// later). The slots of one host are adjacent.
func countHosts(text []byte) (procs, hosts int64) {
	var last []byte
	for len(text) > 0 {
		slot := text
		if i := bytes.IndexByte(text, '+'); i >= 0 {
			slot, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if len(slot) == 0 {
			continue
		}
		host, n := slot, int64(1)
		if i := bytes.LastIndexByte(slot, '/'); i >= 0 {
			host, n = slot[:i], countSlot(slot[i+1:])
		}
		procs = sum(procs, n)
		if !bytes.Equal(host, last) {
			hosts++
			last = host
		}
	}
	return procs, hosts
}

// countSlot counts the processors in the text after the "/" of a slot. A text that cannot be parsed counts as one
// processor.
func countSlot(text []byte) int64 {
	if _, ok := logtext.Digits(text); ok {
		return 1
	}
	if _, times, found := bytes.Cut(text, []byte("*")); found {
		if n, ok := logtext.Digits(times); ok {
			return min(n, maxProcs+1)
		}
		return 1
	}
	var total int64
	for len(text) > 0 {
		item, rest, _ := bytes.Cut(text, []byte(","))
		text = rest
		from, to, isRange := bytes.Cut(item, []byte("-"))
		a, okA := logtext.Digits(from)
		b, okB := logtext.Digits(to)
		n := int64(1)
		if isRange && okA && okB && b >= a {
			n = b - a + 1
		}
		total = sum(total, n)
	}
	return max(total, 1)
}

// parseWalltime reads a time limit: seconds, MM:SS, HH:MM:SS or DD:HH:MM:SS ("Units: time" of pbs_resources(7B); days
// are Torque's). It drops a fraction of a second. A limit of more than 68 years counts as none: the result is 0.
func parseWalltime(text []byte) (time.Duration, bool) {
	if i := bytes.IndexByte(text, '.'); i >= 0 {
		text = text[:i]
	}
	units := [...]int64{1, 60, 60 * 60, 24 * 60 * 60}
	var total int64
	for unit := 0; ; unit++ {
		if unit == len(units) {
			return 0, false
		}
		i := bytes.LastIndexByte(text, ':')
		n, ok := logtext.Digits(text[i+1:])
		if !ok {
			return 0, false
		}
		total = sum(total, product(n, units[unit]))
		if i < 0 {
			break
		}
		text = text[:i]
	}
	if total > maxProcs { // 2^31 - 1 s, the bound of product and sum
		total = 0
	}
	return time.Duration(total) * time.Second, true
}
