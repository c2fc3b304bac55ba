package slurm

import (
	"fmt"

	"github.com/waitcast/waitcast/collector"
)

// nodesOf returns the nodes of a list in Slurm's hostlist notation: 13 nodes for "n[01-03,07],login,r[0-1]n[0-3]",
// none for "(null)".
func nodesOf(list []byte) (names []string, err error) {
	switch string(list) {
	case "(null)", "N/A":
		return nil, nil
	}
	for len(list) > 0 {
		var element []byte
		element, list = cutElement(list)
		err := expand("", element, maxDimensions, func(name string) error {
			if len(names) >= maxListed {
				return collector.Bad(collector.ReasonField, "nodes", "more than %d nodes", maxListed)
			}
			names = append(names, name)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// maxDimensions is the maximum number of pairs of brackets in one element of a list: HIGHEST_DIMENSIONS in
// slurm/slurm.h.
const maxDimensions = 5

// maxListed is the maximum number of nodes of one list: MAX_RANGE in src/common/hostlist.c.
const maxListed = 64 << 10

// cutElement cuts off the text before the first comma outside of brackets.
func cutElement(list []byte) (element, rest []byte) {
	inside := false
	for i, c := range list {
		switch {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case c == ',' && !inside:
			return list[:i], list[i+1:]
		}
	}
	return list, nil
}

// expand calls the function do with each name that consists of head and one expansion of element, and returns its first
// error. element may have at most the given number of pairs of brackets.
func expand(head string, element []byte, brackets int, do func(name string) error) error {
	open := -1
	for i, c := range element {
		if c == ']' || c == '(' || c == ')' || c == ' ' {
			return errNodes(element)
		}
		if c == '[' {
			open = i
			break
		}
	}
	if open < 0 {
		if head == "" && len(element) == 0 {
			return errNodes(element)
		}
		return do(head + string(element))
	}
	if brackets == 0 {
		return errNodes(element)
	}
	head += string(element[:open])
	for rest := element[open+1:]; ; {
		low, after, ok := leadingNumber(rest)
		width := len(rest) - len(after)
		high := low
		if ok && len(after) > 0 && after[0] == '-' {
			high, after, ok = leadingNumber(after[1:])
		}
		if !ok || len(after) == 0 || high < low || high-low > maxListed || after[0] != ',' && after[0] != ']' {
			return errNodes(element)
		}
		tail := element[len(element):]
		if closing := indexClosing(after); closing >= 0 {
			tail = after[closing+1:]
		}
		for n := low; n <= high; n++ {
			if err := expand(fmt.Sprintf("%s%0*d", head, width, n), tail, brackets-1, do); err != nil {
				return err
			}
		}
		if after[0] == ']' {
			return nil
		}
		rest = after[1:]
	}
}

func indexClosing(text []byte) int {
	for i, c := range text {
		if c == ']' {
			return i
		}
	}
	return -1
}

func errNodes(element []byte) error {
	return collector.Bad(collector.ReasonField, "nodes", "want a list of nodes like n[01-03,07],login, got %q",
		shorten(element))
}
