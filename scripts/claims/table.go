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

// A Table says of every measured figure in the pages where it comes from.
type Table struct {
	// Generated are pages, or folders, that a command writes.
	Generated []Generated `yaml:"generated"`
	// Timings are pages of speeds: other on each machine and in each run, so that nothing is compared. Each of their
	// figures must stand beside the command that measures it.
	Timings []Page `yaml:"timings"`
	// Without are pages whose figures are settings, formats, examples and definitions.
	Without []Page `yaml:"without"`
	// Measured are figures in the prose of the other pages.
	Measured []Claim `yaml:"measured"`
	// Definitions are blocks of the other pages whose figures nobody measured.
	Definitions []Page `yaml:"definitions"`
}

// Generated is a page that a command writes. What it needs is named below the shared folder.
type Generated struct {
	Page  string   `yaml:"page"`
	By    string   `yaml:"by"`
	Needs []string `yaml:"needs"`
	Full  bool     `yaml:"full"` // takes long: only on request
}

// Page is a page, or those of its blocks that have one of the texts, and why their figures are no claims.
type Page struct {
	Page string   `yaml:"page"`
	Text []string `yaml:"text"`
	Why  string   `yaml:"why"`
}

// Claim is the blocks of a page that have one of the texts, each text being in one block, and how their figures are
// had. Exactly one of By and Once is there.
type Claim struct {
	Page string   `yaml:"page"`
	Text []string `yaml:"text"`
	By   string   `yaml:"by"` // the command that measures
	// why there is none: measured once, outside of this tree or by an earlier state of it
	Once   string   `yaml:"once"`
	Varies string   `yaml:"varies"` // why a run again gives other figures, so that none is made
	Full   bool     `yaml:"full"`   // takes long: only on request
	Needs  []string `yaml:"needs"`
	// without any it is enough that the command succeeds: it is a test of these figures
	Compare []Compare `yaml:"compare"`
}

// Compare finds figures in the page and in what the command says, by as many groups of both expressions, in one order
// or of the same names. They agree when they are equal
// to the last digit that the page gives, or differ by Within at most.
type Compare struct {
	Page   pattern `yaml:"page"`
	Output pattern `yaml:"output"`
	Within float64 `yaml:"within"`
}

// pattern is a regular expression; . is any character but a newline.
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

// read reads a table and refuses what it does not know or what contradicts itself.
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
