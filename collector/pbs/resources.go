package pbs

import (
	"bytes"
	"math"
	"time"

	"github.com/waitcast/waitcast/collector/logtext"
	"github.com/waitcast/waitcast/job"
)

// resources are the requested resources other than processors. Values that cannot be parsed are left out, because a
// site may use a name for another purpose.
type resources struct {
	memory, perProc int64 // in bytes, of the job and of each processor
	gpus            int64
	chunkGPUs       int64 // number requested in select or nodes
	gpuType         []byte
	qos             []byte
	whole           bool
	longest         time.Duration // time limit of a job that may be shrunk, before its start
}

// set stores one requested resource, if it is known.
func (r *resources) set(name, value []byte) {
	switch string(name) {
	case "mem":
		r.memory = parseSize(value)
	case "pmem": // per process, in Torque
		r.perProc = parseSize(value)
	case "ngpus", "gpus":
		r.gpus, _ = logtext.Digits(value)
	case "gpu_type", "gpu_model":
		r.gpuType = value
	case "qos": // Torque with Moab or Maui; elsewhere a resource of the site
		r.qos = value
	case "max_walltime": // OpenPBS sets walltime when the job starts, between min_walltime and this
		r.longest, _ = parseWalltime(value)
	case "place": // [arrangement][:sharing][:grouping], pbs_resources(7B) of OpenPBS
		for item := range bytes.SplitSeq(value, []byte(":")) {
			if string(item) == "excl" || string(item) == "exclhost" {
				r.whole = true
			}
		}
	case "naccesspolicy": // Moab and Maui
		r.whole = bytes.EqualFold(value, []byte("singlejob"))
	}
}

// chunks sets chunkGPUs to the number of GPUs in select or nodes: each chunk's ngpus= or gpus=, times the number of
// such chunks. It also sets the type of the GPUs, if a chunk has one.
func (r *resources) chunks(spec []byte) {
	r.chunkGPUs = 0
	for part := range bytes.SplitSeq(spec, []byte("+")) {
		n, each := int64(1), int64(0)
		for i, item := range bytes.Split(part, []byte(":")) {
			if count, ok := logtext.Digits(item); ok && i == 0 {
				n = count
			}
			for _, name := range [...]string{"ngpus=", "gpus="} {
				if value, found := bytes.CutPrefix(item, []byte(name)); found {
					each, _ = logtext.Digits(value)
				}
			}
			for _, name := range [...]string{"gpu_type=", "gpu_model="} {
				if value, found := bytes.CutPrefix(item, []byte(name)); found {
					r.gpuType = value
				}
			}
		}
		r.chunkGPUs = sum(r.chunkGPUs, product(n, each))
	}
}

// copyTo sets the attributes that the resources determine: memory, GPUs, exclusive use, and a missing time limit. The
// attributes Procs and TimeLimit must be set before.
func (r *resources) copyTo(a *job.Attributes) {
	a.Memory, a.Whole = r.memory, r.whole
	if a.TimeLimit == 0 {
		a.TimeLimit = r.longest
	}
	if a.Memory == 0 && r.perProc > 0 && int64(a.Procs) < math.MaxInt64/r.perProc {
		a.Memory = r.perProc * int64(a.Procs)
	}
	if n := max(r.gpus, r.chunkGPUs); n > 0 && n <= maxProcs {
		a.GPUs, a.GPUType = int(n), string(r.gpuType)
	}
}

// parseSize parses an amount of memory and returns bytes, 0 for other texts. The text is a number, an optional k, m,
// g, t or p (powers of 1024), and b or w (words of 8 bytes). A number alone is bytes ("Units: size" of
// pbs_resources(7B)).
func parseSize(text []byte) int64 {
	text = bytes.ToLower(text)
	unit := int64(1)
	if n := len(text); n > 0 && (text[n-1] == 'b' || text[n-1] == 'w') {
		if text[n-1] == 'w' {
			unit = 8
		}
		text = text[:n-1]
	}
	if n := len(text); n > 0 {
		if power := bytes.IndexByte([]byte("kmgtp"), text[n-1]); power >= 0 {
			unit <<= 10 * (power + 1)
			text = text[:n-1]
		}
	}
	n, ok := logtext.Digits(text)
	if !ok || n > math.MaxInt64/unit {
		return 0
	}
	return n * unit
}
