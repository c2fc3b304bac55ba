package slurm

import (
	"bytes"
	"strconv"

	"github.com/waitcast/waitcast/collector"
)

// cutJob cuts the id of a job off the front of a message, in the form of _jobid2fmt in src/common/log.c. The form is
// "JobId=2" for a job, "JobId=9_1(26)" for task 1 of array 9, which has job number 26, and "JobId=21+1(22)" for
// component 1 of the heterogeneous job 21. It is "JobId=11_*" for the waiting tasks of array 11, which are one record
// with the array's number. cutJob also accepts ids that users type: "9_1" without the job number.
func cutJob(msg []byte) (id string, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(msg, []byte("JobId="))
	if !ok {
		return "", msg, false
	}
	whole, rest, ok := leadingNumber(rest)
	if !ok || whole == 0 {
		return "", msg, false
	}
	if len(rest) == 0 || rest[0] != '_' && rest[0] != '+' {
		return strconv.FormatInt(whole, 10), rest, true
	}
	sep := rest[0]
	if sep == '_' && len(rest) > 1 && rest[1] == '*' {
		return strconv.FormatInt(whole, 10), rest[2:], true
	}
	index, rest, ok := leadingNumber(rest[1:])
	if !ok {
		return "", msg, false
	}
	var raw int64
	if len(rest) > 0 && rest[0] == '(' {
		raw, rest, ok = leadingNumber(rest[1:])
		if !ok || len(rest) == 0 || rest[0] != ')' {
			return "", msg, false
		}
		rest = rest[1:]
	}
	return TaskID(raw, whole, sep, index), rest, true
}

// tasks are tasks of an array in the form that users type: "9_[3-6,8]".
type tasks struct {
	whole int64
	list  []byte
}

// cutTasks recognizes "JobId=9_[3-6,8]".
func cutTasks(msg []byte) (tasks, bool) {
	rest, ok := bytes.CutPrefix(msg, []byte("JobId="))
	if !ok {
		return tasks{}, false
	}
	whole, rest, ok := leadingNumber(rest)
	if !ok || whole == 0 {
		return tasks{}, false
	}
	rest, ok = bytes.CutPrefix(rest, []byte("_["))
	if !ok {
		return tasks{}, false
	}
	list, _, ok := bytes.Cut(rest, []byte("]"))
	return tasks{whole: whole, list: list}, ok
}

// maxTasks is the maximum number of events of one line. It is the default of MaxArraySize in slurm.conf(5).
const maxTasks = 1001

// each calls the function do with the id of each task. It returns an error if the list is malformed. For a list of more
// than maxTasks tasks it returns an error after the first maxTasks of them.
func (t tasks) each(do func(id string)) error {
	set, err := t.parse()
	if err != nil {
		return err
	}
	told := 0
	for _, r := range set.ranges {
		for i := r.low; i <= r.high; i += r.step {
			if told++; told > maxTasks {
				return collector.Bad(collector.ReasonField, "JobId", "more than %d tasks", maxTasks)
			}
			do(TaskID(0, t.whole, '_', i))
		}
	}
	return nil
}

// taskSet is a parsed list of task numbers.
type taskSet struct {
	ranges   []taskRange
	cut      bool // the list was truncated, so that there are more tasks
	throttle int  // maximum number of running tasks; 0 means all
}

// taskRange has every step-th number from low to high.
type taskRange struct{ low, high, step int64 }

// parse parses the list of tasks, with steps (":4") and throttles ("%4") as in sbatch(1). Slurm truncates the list to
// SLURM_BITSTR_LEN, even in the middle of a number, and appends "..." (bit_fmt and its callers in
// src/common/slurm_protocol_defs.c).
func (t tasks) parse() (set taskSet, err error) {
	list, throttle, _ := bytes.Cut(t.list, []byte("%"))
	if n, rest, ok := leadingNumber(throttle); ok && len(rest) == 0 {
		set.throttle = int(min(n, maxProcs))
	}
	for len(list) > 0 {
		var part []byte
		part, list, _ = bytes.Cut(list, []byte(","))
		if bytes.HasSuffix(part, []byte("...")) {
			set.cut = true
			break
		}
		low, rest, ok := leadingNumber(part)
		r := taskRange{low: low, high: low, step: 1}
		if ok && len(rest) > 0 && rest[0] == '-' {
			r.high, rest, ok = leadingNumber(rest[1:])
		}
		if ok && len(rest) > 0 && rest[0] == ':' {
			r.step, rest, ok = leadingNumber(rest[1:])
		}
		if !ok || len(rest) > 0 || r.step == 0 || r.high < r.low {
			return taskSet{},
				collector.Bad(collector.ReasonField, "JobId", "want tasks like 3-6,8, got %q", shorten(t.list))
		}
		set.ranges = append(set.ranges, r)
	}
	return set, nil
}

// count returns the number of tasks, at most maxProcs.
func (s taskSet) count() int {
	var n int64
	for _, r := range s.ranges {
		n = min(n+(r.high-r.low)/r.step+1, maxProcs)
	}
	return int(n)
}

// has reports whether the task with this index is in the set.
func (s taskSet) has(index int64) bool {
	for _, r := range s.ranges {
		if r.low <= index && index <= r.high && (index-r.low)%r.step == 0 {
			return true
		}
	}
	return false
}
