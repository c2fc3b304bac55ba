package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is one error in the configuration. Load and Validate return all errors together (errors.Join).
type Error struct {
	// File is the place where the value was written: a file, "flag --listen" or "environment variable
	// WAITCAST_LISTEN". It is empty for a value that was not written.
	File string
	// Line is counted from 1; 0 if the place has no lines.
	Line int
	// Key is the key in the form of the reference, with list positions from 0: clusters[0].sources[1].path. It is
	// empty if the error is about the whole file.
	Key string
	// Problem describes the error.
	Problem string
	// Allowed describes the allowed values; it may be empty.
	Allowed string
	// Err is the cause, if there is one.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteString(":" + strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	}
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Problem)
	if e.Allowed != "" {
		b.WriteString("; allowed: " + e.Allowed)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// place is the place at which a key was written.
type place struct {
	file string
	line int
}

// problems collects errors, and has the places of keys.
type problems struct {
	list   []*Error
	places map[string]place
	// bad has the keys with an error. Consequences of such an error are not reported.
	bad map[string]bool
}

func newProblems() *problems {
	return &problems{places: map[string]place{}, bad: map[string]bool{}}
}

// add records an error and excludes its key from further checks.
func (p *problems) add(e *Error) {
	p.list = append(p.list, e)
	p.bad[e.Key] = true
}

// found reports a wrong value of a key, unless the key or a key above it already has an error.
func (p *problems) found(key, problem, allowed string, cause error) {
	for k := key; k != ""; k = parent(k) {
		if p.bad[k] {
			return
		}
	}
	at := p.locate(key)
	p.add(&Error{File: at.file, Line: at.line, Key: key, Problem: problem, Allowed: allowed, Err: cause})
}

// locate returns the place where a key was written. If the key was not written, it returns the place of the nearest
// key above.
func (p *problems) locate(key string) place {
	for k := key; ; k = parent(k) {
		if at, ok := p.places[k]; ok || k == "" {
			return at
		}
	}
}

// parent returns the key above key: a[0] for a[0].b, a for a[0], and "" for a.
func parent(key string) string {
	return key[:max(strings.LastIndexAny(key, ".["), 0)]
}

// maxErrors is the maximum number of errors that are named.
const maxErrors = 100

// err joins the first errors by files and lines, and the number of the others.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	var all []error
	for i, e := range p.list {
		if i == maxErrors {
			all = append(all, fmt.Errorf("and %d more errors in the configuration", len(p.list)-maxErrors))
			break
		}
		all = append(all, e)
	}
	return errors.Join(all...)
}

// nearest returns the candidate that was most likely meant by name: the one with the smallest edit distance. It returns
// "" if that distance is more than 2 and more than a third of the name's length, or if it is not less than the length
// of the candidate.
func nearest(name string, candidates []string) string {
	best, limit := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), c); d < limit && d < len(c) {
			best, limit = c, d
		}
	}
	return best
}

// distance returns the edit distance of Levenshtein 1966: the minimum number of bytes that are inserted, deleted or
// replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
