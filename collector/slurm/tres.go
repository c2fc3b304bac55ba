package slurm

import (
	"bytes"
	"strconv"

	"github.com/waitcast/waitcast/collector"
)

// resources are the contents of a list of trackable resources.
type resources struct {
	procs, nodes int
	memory       int64 // bytes
	gpus         int
	gpuType      string // set if all GPUs have one type
}

// parseTRES reads "cpu=16,mem=62.50G,node=4,billing=16,gres/gpu=2,gres/gpu:a100=2"
// (slurm_make_tres_string_from_simple in src/common/slurmdb_defs.c). GPUs are counted in total, by type, or both,
// depending on AccountingStorageTRES in slurm.conf. Unknown resources are skipped.
func parseTRES(field string, text []byte) (r resources, err error) {
	switch string(text) {
	case "", "N/A", "(null)":
		return r, nil
	}
	typed := gpuCount{}
	for item := range bytes.SplitSeq(text, []byte(",")) {
		key, value, _ := bytes.Cut(item, []byte("="))
		var n int64
		ok := true
		switch kind, gpuType, _ := bytes.Cut(key, []byte(":")); string(kind) {
		case "cpu":
			n, ok = count(value)
			r.procs = int(n)
		case "node":
			n, ok = count(value)
			r.nodes = int(n)
		case "mem":
			r.memory, ok = megabytes(value)
		case "gres/gpu":
			n, ok = count(value)
			if len(gpuType) == 0 {
				r.gpus = int(n)
			} else {
				typed.add(gpuType, n)
			}
		}
		if !ok {
			return resources{},
				collector.Bad(collector.ReasonField, field, "want numbers of resources like cpu=16,mem=4G, got %q",
					shorten(item))
		}
	}
	if r.gpus == 0 {
		r.gpus = typed.all
	}
	if typed.all == r.gpus {
		r.gpuType = typed.oneType()
	}
	return r, nil
}

// gpuCount counts GPUs by type.
type gpuCount struct {
	all     int
	gpuType string // type of the first GPUs; "" for GPUs of any type
	mixed   bool
}

func (c *gpuCount) add(gpuType []byte, n int64) {
	if n <= 0 {
		return
	}
	if c.all == 0 {
		c.gpuType = string(gpuType)
	} else if c.gpuType != string(gpuType) {
		c.mixed = true
	}
	c.all = int(min(int64(c.all)+n, maxProcs))
}

// oneType returns the type of all GPUs, "" if there are several types.
func (c *gpuCount) oneType() string {
	if c.mixed {
		return ""
	}
	return c.gpuType
}

// times returns n times the number of GPUs, and their type.
func (c gpuCount) times(n int64) (gpus int, gpuType string) {
	if c.all == 0 || n <= 0 {
		return 0, ""
	}
	return int(min(int64(c.all)*min(n, maxProcs), maxProcs)), c.oneType()
}

// gres counts the GPUs in a list of generic resources (gres.conf(5), sbatch(1)). The list is a job's request
// ("gres:gpu:a100:2", since 23.02 "gres/gpu:a100:2") or a node's resources ("gpu:a100:2(S:0-1),gpu:v100:1"). An item
// has name, type and count. Type and count may be missing.
func gres(text []byte) (c gpuCount) {
	for len(text) > 0 {
		var item []byte
		item, text = cutItem(text)
		item, _, _ = bytes.Cut(item, []byte("("))
		if rest, ok := bytes.CutPrefix(item, []byte("gres")); ok && len(rest) > 0 {
			item = rest[1:]
		}
		name, rest, _ := bytes.Cut(item, []byte(":"))
		if string(name) != "gpu" {
			continue
		}
		gpuType, number, typed := bytes.Cut(rest, []byte(":"))
		if !typed {
			if n, ok := count(rest); ok {
				c.add(nil, n)
			} else {
				c.add(rest, 1)
			}
			continue
		}
		if string(gpuType) == "no_consume" {
			gpuType = nil
		}
		n, _ := count(number) // a malformed number counts as 0, because GPUs are optional
		c.add(gpuType, n)
	}
	return c
}

// cutItem cuts an item off at the first comma that is not in parentheses.
func cutItem(text []byte) (item, rest []byte) {
	depth := 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			return text[:i], text[i+1:]
		}
	}
	return text, nil
}

// count parses a number, which Slurm may write as "16K" (1K = 1,024). For a number above maxProcs it returns maxProcs.
func count(text []byte) (int64, bool) {
	n, ok := scaled(text, 1)
	return int64(min(n, maxProcs)), ok
}

// maxMemory is 1 EiB. Larger amounts of memory count as this one.
const maxMemory = 1 << 60

// megabytes parses memory, "4000M" or "62.50G", and returns bytes. A number without a unit is in MiB.
func megabytes(text []byte) (int64, bool) {
	n, ok := scaled(text, 1<<20)
	return int64(min(n, maxMemory)), ok
}

// scaled parses a number with one of Slurm's units, each 1,024 times the previous one (convert_num_unit2 in
// src/common/slurm_protocol_defs.c). A number without a unit is multiplied by bare.
func scaled(text []byte, bare float64) (float64, bool) {
	unit := bare
	if len(text) > 0 {
		if i := bytes.IndexByte([]byte("KMGTPEZ"), text[len(text)-1]); i >= 0 {
			for unit = 1024; i > 0; i-- {
				unit *= 1024
			}
			text = text[:len(text)-1]
		}
	}
	if len(text) == 0 || !isDigit(text[0]) || len(text) > 30 || bytes.ContainsAny(text, "eExXpP_") {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(text), 64)
	return n * unit, err == nil
}
