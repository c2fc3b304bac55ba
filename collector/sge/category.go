package sge

import (
	"bytes"
	"time"
)

// splitCategory splits the rest of an accounting record into the job's category and the fields after it. A category may
// contain colons ("-l h_rt=24:00:00"), so its end is found by the fields that follow: iow, a number with a decimal
// point, then pe_taskid, then maxvmem, a number. The tail begins with iow.
func splitCategory(rest []byte) (category, tail []byte) {
	for from := 0; ; {
		i := bytes.IndexByte(rest[from:], ':')
		if i < 0 {
			return rest, nil
		}
		from += i + 1
		iow, after, _ := bytes.Cut(rest[from:], colon())
		if !isDecimal(iow) {
			continue
		}
		_, after, ok := bytes.Cut(after, colon())
		if vmem, _, _ := bytes.Cut(after, colon()); ok && isNumber(vmem) {
			return rest[:from-1], rest[from:]
		}
	}
}

// parallelTask returns the pe_taskid, the second of the fields after the category.
func parallelTask(tail []byte) []byte {
	_, after, _ := bytes.Cut(tail, colon())
	task, _, _ := bytes.Cut(after, colon())
	return task
}

func colon() []byte { return []byte{':'} }

func isDecimal(b []byte) bool { return bytes.IndexByte(b, '.') > 0 && isNumber(b) }

func isNumber(b []byte) bool {
	points := 0
	for _, c := range b {
		switch {
		case c == '.':
			points++
		case c < '0' || c > '9':
			return false
		}
	}
	return len(b) > points && points <= 1
}

// timeLimit returns the wall-clock limit in a category, 0 if it has none. It is h_rt, at which the job is killed.
// Without h_rt it is s_rt, at which the job is warned. Both are among the requests of -l, separated by commas. Requests
// after -soft are no limits: Grid Engine 8.1.9 lets such a job continue.
func timeLimit(category []byte) time.Duration {
	if i := bytes.Index(category, []byte("-soft ")); i == 0 || i > 0 && category[i-1] == ' ' {
		category = category[:i]
	}
	if d := request(category, "h_rt="); d > 0 {
		return d
	}
	return request(category, "s_rt=")
}

func request(category []byte, name string) time.Duration {
	for from := 0; ; {
		i := bytes.Index(category[from:], []byte(name))
		if i < 0 {
			return 0
		}
		i += from
		from = i + len(name)
		if i > 0 && (category[i-1] == ',' || category[i-1] == ' ') {
			value := category[from:]
			if end := bytes.IndexAny(value, ", "); end >= 0 {
				value = value[:end]
			}
			return timeSpec(value)
		}
	}
}

// maxLimit is the maximum time limit. A longer one counts as no limit.
const maxLimit = 1e9 // s, 31 years

// timeSpec reads a time specifier: seconds, or [[hours:]minutes:]seconds where each part may be empty (sge_types(5)).
// It returns 0 for other texts, such as INFINITY.
func timeSpec(value []byte) time.Duration {
	var total, part int64
	parts := 1
	for _, c := range value {
		switch {
		case c == ':':
			total, part = (total+part)*60, 0
			parts++
		case c >= '0' && c <= '9':
			part = part*10 + int64(c-'0')
		default:
			return 0
		}
		if part > maxLimit || total > maxLimit || parts > 3 {
			return 0
		}
	}
	total += part
	if total > maxLimit {
		return 0
	}
	return time.Duration(total) * time.Second
}
