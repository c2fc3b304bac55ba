package lsf

import (
	"bytes"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/logtext"
)

// maxElements bounds the elements that one record can tell of. LSF's own bound, MAX_JOB_ARRAY_SIZE in lsb.params, is 1000 by
// default.
const maxElements = 100_000

// indexRange is first, first+step, ... up to last.
type indexRange struct{ first, last, step int64 }

// splitName takes the name of a job array apart, "name[1-10:2,20]%5" (-J in bsub): its elements' indexes, and at most so many at
// once. A name without such a list is that of a job.
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

// each calls do with the id of the job, or of each of its elements if there are ranges.
func each(number int64, ranges []indexRange, do func(id string)) error {
	if len(ranges) == 0 {
		do(jobID(number, 0))
		return nil
	}
	n := 0
	for _, r := range ranges {
		for i := r.first; i <= r.last; i += r.step {
			if n++; n > maxElements {
				return collector.Bad(collector.ReasonField, "jobName", "the array of job %d has more than %d elements; the rest is left out",
					number, maxElements)
			}
			do(jobID(number, i))
		}
	}
	return nil
}
