package slurm

import (
	"bytes"
	"strings"

	"github.com/waitcast/waitcast/job"
)

// after parses a dependency list of squeue and slurmrestd: "afterok:12(unfulfilled),afterany:13_*(unfulfilled)"
// (_depend_list2str in src/slurmctld/job_mgr.c; a real Slurm 22.05). All parts separated by "," must be fulfilled, or
// one of several separated by "?". shown is the job's own id. The result is a value of job.Attributes.After, such as
// "12,13_*". It is empty if the job waits for nothing, and UnknownAfter for conditions that such a list cannot express,
// such as alternatives, starts or failures of jobs.
func after(text, shown []byte) string {
	switch string(text) {
	case "", "(null)":
		return ""
	}
	if bytes.ContainsRune(text, '?') {
		return job.UnknownAfter
	}
	var names []string
	for item := range bytes.SplitSeq(text, []byte(",")) {
		kind, rest, _ := bytes.Cut(item, []byte(":"))
		name, state, _ := bytes.Cut(rest, []byte("("))
		if string(state) == "fulfilled)" {
			continue
		}
		switch string(kind) {
		case "afterany", "afterok":
		case "aftercorr":
			name = corresponding(name, shown)
		default: // after (a start), afternotok, afterburstbuffer, singleton, expand
			return job.UnknownAfter
		}
		if !isJobName(name) {
			return job.UnknownAfter
		}
		names = append(names, string(name))
	}
	return strings.Join(names, ",")
}

// corresponding returns the task of another array that corresponds to a task: "3_2" for 3_* and 13_2.
func corresponding(name, shown []byte) []byte {
	whole, _, array := bytes.Cut(name, []byte("_"))
	_, index, task := bytes.Cut(shown, []byte("_"))
	if !array || !task || !isNumber(index) {
		return name
	}
	return bytes.Join([][]byte{whole, index}, []byte("_"))
}

// isJobName reports whether a text names a job, a task or all tasks of an array: 12, 12_3, 12_*.
func isJobName(name []byte) bool {
	whole, part, task := bytes.Cut(name, []byte("_"))
	return isNumber(whole) && (!task || string(part) == "*" || isNumber(part))
}

func isNumber(text []byte) bool {
	_, rest, ok := leadingNumber(text)
	return ok && len(rest) == 0
}
