package slurm

import (
	"strings"

	"github.com/waitcast/waitcast/job"
)

// maxNodes bounds counts of nodes, so that sums cannot overflow.
const maxNodes = 1 << 24

// countNodes returns the number of nodes in a list in Slurm's hostlist notation: 13 for
// "n[01-03,07],login,r[0-1]n[0-3]". It returns 0 for "(null)", "None assigned", and any list that cannot be parsed,
// because the number of nodes is useful but not required.
func countNodes(list []byte) int {
	total, product := 0, 1
	empty := true // the element is empty so far
	for i := 0; i < len(list); i++ {
		switch c := list[i]; c {
		case ',':
			if empty {
				return 0
			}
			total, product, empty = total+product, 1, true
		case '[':
			n, length := countRanges(list[i+1:])
			if n == 0 {
				return 0
			}
			product, empty = product*n, false
			i += length
		case ']', '(', ')', ' ':
			return 0
		default:
			empty = false
		}
		if product > maxNodes || total > maxNodes {
			return 0
		}
	}
	if empty {
		return 0
	}
	return total + product
}

// namesOf returns the names of the nodes in a list, separated by commas. nodes is the number of the nodes. It returns
// "" if there are none or too many to keep, or if the list cannot be parsed.
func namesOf(list []byte, nodes int) string {
	if nodes == 0 || nodes > job.MostNamed {
		return ""
	}
	names, err := nodesOf(list)
	if err != nil {
		return ""
	}
	return strings.Join(names, ",")
}

// countRanges counts the nodes in "01-03,07]" and returns the length of that text, including the bracket. If the text
// is malformed, it returns 0.
func countRanges(b []byte) (count, length int) {
	rest := b
	for {
		low, after, ok := leadingNumber(rest)
		if !ok || len(after) == 0 {
			return 0, 0
		}
		high := low
		if after[0] == '-' {
			if high, after, ok = leadingNumber(after[1:]); !ok || len(after) == 0 || high < low {
				return 0, 0
			}
		}
		if high-low >= maxNodes || count > maxNodes {
			return 0, 0
		}
		count += int(high-low) + 1
		rest = after[1:]
		switch after[0] {
		case ']':
			return count, len(b) - len(rest)
		case ',':
		default:
			return 0, 0
		}
	}
}
