package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestHouse checks the statements in docs/architecture.md: every package has a depguard rule for its imports, except
// scripts and research, and every folder is in the table of that page.
func TestHouse(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	var lint struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Files []string `yaml:"files"`
					} `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	data, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, &lint); err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{}
	for _, name := range []string{"docs/architecture.md"} {
		page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		tables[name] = string(page)
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, depth := range []string{"*/*/*.go", "*/*/*/*.go", "*/*/*/*/*.go"} {
		more, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(depth)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	seen := map[string]bool{}
	for _, file := range files {
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../../")
		dir := filepath.ToSlash(filepath.Dir(name))
		if seen[dir] || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "scripts/") ||
			strings.HasPrefix(name, "research/") {
			continue
		}
		seen[dir] = true
		ruled := false
		for _, rule := range lint.Linters.Settings.Depguard.Rules {
			in := func(except bool) bool {
				return slices.ContainsFunc(rule.Files, func(glob string) bool {
					bare, excepts := strings.CutPrefix(glob, "!")
					return excepts == except && bare != "$test" && globbed(bare).MatchString("/root/"+name)
				})
			}
			ruled = ruled || in(false) && !in(true)
		}
		if !ruled && !strings.HasSuffix(dir, "test") {
			t.Errorf("%s: no rule of depguard in .golangci.yml says what it may import", dir)
		}
		for name, page := range tables {
			if top, _, _ := strings.Cut(dir, "/"); !strings.Contains(page, "`"+top+"/") {
				t.Errorf("%s/: %s does not say what lives there", top, name)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d packages were found", len(seen))
	}
}

// globbed converts a pattern of depguard to a regular expression: ** matches any path, * any name, {a,b} one of the
// alternatives.
func globbed(glob string) *regexp.Regexp {
	r := strings.NewReplacer(".", `\.`, "**/", "(?:.*/)?", "*", "[^/]*", "{", "(?:", ",", "|", "}", ")")
	return regexp.MustCompile("^/?" + r.Replace(glob) + "$")
}
