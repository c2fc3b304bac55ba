package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// A Table states the origin of every measured figure in the pages.
type Table struct {
	// Generated are pages, or folders, that a command writes.
	Generated []Generated `yaml:"generated"`
	// Timings are pages of speeds. Speeds differ on each machine and in each run, so they are not compared. But near
	// each figure there must be the command that measures it.
	Timings []Page `yaml:"timings"`
	// Without are pages whose figures are settings, formats, examples and definitions.
	Without []Page `yaml:"without"`
	// Measured are figures in the prose of the other pages.
	Measured []Claim `yaml:"measured"`
	// Definitions are blocks of the other pages whose figures are not measured.
	Definitions []Page `yaml:"definitions"`
}

// Generated is a page that a command writes. Needs are the files that the command needs, relative to the shared
// folder.
type Generated struct {
	Page  string   `yaml:"page"`
	By    string   `yaml:"by"`
	Needs []string `yaml:"needs"`
	Full  bool     `yaml:"full"` // true if the command takes long, so that it runs only on request
}

// Page is a whole page, or the blocks of a page that contain one of the texts. The figures in it are not claims, for
// the given reason.
type Page struct {
	Page string   `yaml:"page"`
	Text []string `yaml:"text"`
	Why  string   `yaml:"why"`
}

// Claim is the set of those blocks of a page that contain one of the texts, with the origin of their figures. Each text
// must be in exactly one block. Exactly one of By and Once is set.
type Claim struct {
	Page string   `yaml:"page"`
	Text []string `yaml:"text"`
	By   string   `yaml:"by"` // the command that measures the figures
	// Once is the reason why there is no command: measured once, outside of this tree or with an earlier state of it.
	Once   string   `yaml:"once"`
	Varies string   `yaml:"varies"` // the reason why another run gives other figures, so that it is not repeated
	Full   bool     `yaml:"full"`   // true if the command takes long, so that it runs only on request
	Needs  []string `yaml:"needs"`
	// Compare has the figures to compare. If it is empty, the command must only succeed, because it is a test of these
	// figures.
	Compare []Compare `yaml:"compare"`
}

// Compare finds figures in the page and in the output of the command. Both expressions have the same number of groups,
// in the same order or with the same names. Two figures agree if they are equal to the last digit in the page, or if
// they differ by at most Within.
type Compare struct {
	Page   pattern `yaml:"page"`
	Output pattern `yaml:"output"`
	Within float64 `yaml:"within"`
}

// pattern is a regular expression in which . matches any character except a line end.
type pattern struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression.
func (p *pattern) UnmarshalYAML(n *yaml.Node) error {
	var s string
	if err := n.Decode(&s); err != nil {
		return err
	}
	r, err := regexp.Compile(s)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	p.Regexp = r
	return nil
}

// read reads a table. It refuses unknown keys and contradictions.
func read(file string) (*Table, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	var t Table
	if err := d.Decode(&t); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, c := range t.Measured {
		if err := c.valid(); err != nil {
			return nil, fmt.Errorf("%s: %s, %q: %w", file, c.Page, c.Text, err)
		}
	}
	for _, p := range append(append(t.Timings, t.Without...), t.Definitions...) {
		if p.Page == "" || p.Why == "" {
			return nil, fmt.Errorf("%s: %s: page and why must be told", file, p.Page)
		}
	}
	return &t, nil
}

func (c *Claim) valid() error {
	switch {
	case c.Page == "" || len(c.Text) == 0:
		return errors.New("page and text must be told")
	case (c.By == "") == (c.Once == ""):
		return errors.New("one of by and once must be told")
	case len(c.Compare) > 0 && (c.By == "" || c.Varies != ""):
		return errors.New("what is not run again cannot be compared")
	}
	for _, e := range c.Compare {
		if e.Page.Regexp == nil || e.Output.Regexp == nil || e.Page.NumSubexp() == 0 ||
			e.Page.NumSubexp() != e.Output.NumSubexp() {
			return errors.New("page and output of a comparison must have the same number of groups, at least one")
		}
		for _, name := range e.Page.SubexpNames() {
			if name != "" && e.Output.SubexpIndex(name) < 0 {
				return fmt.Errorf("output has no group %s", name)
			}
		}
	}
	return nil
}
