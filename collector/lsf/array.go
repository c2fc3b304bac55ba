package lsf

import (
	"bytes"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
)

// maxElements is the maximum number of elements for which one record makes separate events. It is the default of LSF's
// own limit, MAX_JOB_ARRAY_SIZE in lsb.params. A record with more elements makes events of the whole array.
const maxElements = 1000

// maxTasks is the maximum count of an array's elements, so that sums cannot overflow.
const maxTasks = 1 << 24

// indexRange is the list of indexes first, first+step, ... up to last.
type indexRange struct{ first, last, step int64 }

// splitName parses the name of a job array, "name[1-10:2,20]%5" (-J in bsub). It returns the name before the brackets
// and the indexes of the elements; a throttle such as %5 is skipped. A name without such a list belongs to a single
// job.
func splitName(name []byte) (base []byte, ranges []indexRange) {
	open := bytes.IndexByte(name, '[')
	if open < 0 {
		return name, nil
	}
	list := name[open+1:]
	end := bytes.IndexByte(list, ']')
	if end < 0 {
		return name, nil
	}
	if after := list[end+1:]; len(after) > 0 {
		if _, ok := logtext.Integer(after[1:]); after[0] != '%' || !ok {
			return name, nil
		}
	}
	if ranges = parseRanges(list[:end]); ranges == nil {
		return name, nil
	}
	return name[:open], ranges
}

func parseRanges(list []byte) []indexRange {
	var ranges []indexRange
	for part := range bytes.SplitSeq(list, []byte(",")) {
		span, step, stepped := bytes.Cut(bytes.TrimSpace(part), []byte(":"))
		first, last, isRange := bytes.Cut(span, []byte("-"))
		r := indexRange{step: 1}
		var okFirst, okLast, okStep bool
		r.first, okFirst = logtext.Integer(first)
		r.last, okLast = r.first, true
		if isRange {
			r.last, okLast = logtext.Integer(last)
		}
		okStep = true
		if stepped {
			r.step, okStep = logtext.Integer(step)
		}
		if !okFirst || !okLast || !okStep || !r.valid() {
			return nil
		}
		ranges = append(ranges, r)
	}
	return ranges
}

func (r indexRange) valid() bool { return r.first >= 1 && r.last >= r.first && r.step >= 1 }

// indexRanges reads a count and that many ranges of indexes.
func (s *scanner) indexRanges() []indexRange {
	var ranges []indexRange
	for n := s.int("indexRangeCnt"); n > 0 && s.err == nil; n-- {
		r := indexRange{s.int("indexRangeStart"), s.int("indexRangeEnd"), s.int("indexRangeStep")}
		if s.err == nil && !r.valid() {
			s.err = collector.Bad(collector.ReasonField, "indexRangeStart", "no range of indexes: %d to %d by %d",
				r.first, r.last, r.step)
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// count returns the number of indexes, at most maxTasks.
func count(ranges []indexRange) int {
	var n int64
	for _, r := range ranges {
		n = min(n+(r.last-r.first)/r.step+1, maxTasks)
	}
	return int(n)
}

// each calls the function do with the id of the job, or with the id of each element in ranges. If ranges have more than
// maxElements elements, it calls do once, with the job's number as the id of the whole array.
func each(number int64, ranges []indexRange, do func(id string)) {
	if len(ranges) == 0 || count(ranges) > maxElements {
		do(jobID(number, 0))
		return
	}
	for _, r := range ranges {
		for i := r.first; i <= r.last; i += r.step {
			do(jobID(number, i))
		}
	}
}
