package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// block is a paragraph, a list or a table, without its code, on one line.
type block struct {
	line int // number of its first line, from 1
	text string
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	// A figure is a number with a unit, or a decimal fraction with at least two digits. Small counts, years and
	// sections of papers are not figures.
	figure = regexp.MustCompile(`(^|[^\w.,-])((?:\d[\d,]*(?:\.\d+)?|\.\d+) ` +
		`?(?:ms|µs|s|sec|seconds?|min|minutes?|hours?|[KMG]i?B|bytes?|%|percent|times|jobs/s|[kM]?/s|(?:\w+ )?a ` +
		`second)|-?0?\.\d{2,})(?:[^\w.]|\.\D|\.?$)`)
	// These figures are not measured: levels of quantiles, with or without %, and the 60 s that every loss adds to a
	// wait.
	noFigure = regexp.MustCompile(`^(?:0?\.(?:05|10|25|50|75|90|95)|95 %|90 %|60 s)$`)
)

// figures returns the figures of a text that look measured.
func figures(text string) []string {
	var out []string
	text = inlineCode.ReplaceAllString(text, "``")
	for {
		m := figure.FindStringSubmatchIndex(text)
		if m == nil {
			return out
		}
		if f := text[m[4]:m[5]]; !noFigure.MatchString(f) {
			out = append(out, f)
		}
		text = text[m[5]:]
	}
}

// blocks splits a page into blocks. It leaves out headings, and fenced and indented code.
func blocks(page string) []block {
	var out []block
	var now *block
	fenced := false
	for i, line := range strings.Split(page, "\n") {
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "```") {
			fenced = !fenced
			continue
		}
		if bare == "" || strings.HasPrefix(bare, "#") {
			now = nil
			continue
		}
		if fenced || now == nil && strings.HasPrefix(line, "    ") {
			continue
		}
		if now == nil {
			out = append(out, block{line: i + 1})
			now = &out[len(out)-1]
		}
		now.text = strings.TrimSpace(now.text + " " + strings.Join(strings.Fields(bare), " "))
	}
	return out
}

// pages reads README.md and all pages below docs and research/docs, by their paths from the root.
func pages(root string) (map[string]string, error) {
	out := map[string]string{}
	add := func(name string) error {
		data, err := os.ReadFile(filepath.Join(root, name))
		out[filepath.ToSlash(name)] = string(data)
		return err
	}
	if err := add("README.md"); err != nil {
		return nil, err
	}
	for _, folder := range []string{"docs", filepath.Join("research", "docs")} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			return add(name)
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// uncovered returns figures whose origin the table does not state, and entries of the table that match no text.
func (t *Table) uncovered(pages map[string]string) []string {
	whole := map[string]bool{}
	for _, g := range t.Generated {
		whole[g.Page] = true
	}
	for _, p := range t.Without {
		whole[p.Page] = whole[p.Page] || len(p.Text) == 0
	}
	var wrong []string
	parts := map[string][]string{} // texts by page
	for _, c := range t.Measured {
		parts[c.Page] = append(parts[c.Page], c.Text...)
	}
	for _, p := range t.Definitions {
		parts[p.Page] = append(parts[p.Page], p.Text...)
	}
	for page := range parts {
		if _, ok := pages[page]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s: the table speaks of a page that is not there", page))
		}
	}
	for _, p := range t.Timings {
		whole[p.Page] = true
		wrong = append(wrong, unnamed(p.Page, pages[p.Page])...)
	}
	for name, page := range pages {
		if !whole[name] {
			wrong = append(wrong, holes(name, blocks(page), parts[name])...)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// holes returns messages about texts of the table that are not in exactly one block of the page, and about blocks with
// figures that contain no such text.
func holes(page string, bs []block, texts []string) []string {
	var wrong []string
	covered := make([]bool, len(bs))
	for _, text := range texts {
		n := 0
		for i, b := range bs {
			if strings.Contains(b.text, text) {
				covered[i] = true
				n++
			}
		}
		if n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s: the table's text %q is in %d blocks, want 1", page, text, n))
		}
	}
	for i, b := range bs {
		if f := figures(b.text); len(f) > 0 && !covered[i] {
			wrong = append(wrong,
				fmt.Sprintf("%s:%d: research/cmd/claims/claims.yaml does not say where %q come from", page, b.line, f))
		}
	}
	return wrong
}

// command matches a command in a page of timings.
var command = regexp.MustCompile("`[^`]*\\b(?:make|go (?:test|run)|scripts/|research/)[^`]*`")

// unnamed returns messages about the figures of a page of timings that have no command near them: neither in the same
// block (a table is one block) nor in the block before.
func unnamed(page, text string) []string {
	var wrong []string
	before := ""
	for _, b := range blocks(text) {
		if len(figures(b.text)) > 0 && !command.MatchString(b.text) && !command.MatchString(before) {
			wrong = append(wrong,
				fmt.Sprintf("%s:%d: no command is named that measures %q", page, b.line, figures(b.text)))
		}
		before = b.text
	}
	return wrong
}
