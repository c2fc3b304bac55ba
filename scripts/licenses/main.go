// Command licenses prints whose work is in the binaries, and under which terms: the license of each linked module, of
// works inside it that have their own, of the files that the daemon serves, and of Go.
//
//	go run ./scripts/licenses ./cmd/daemon ./cmd/waitcast
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

// linked is a package that go list prints.
type linked struct {
	Dir      string
	Standard bool
	Module   *struct{ Path, Version, Dir string }
}

func run(ctx context.Context, to io.Writer, programs ...string) error {
	packages, err := list(ctx, programs)
	if err != nil {
		return err
	}
	texts, found := map[string]string{}, map[string]bool{} // titles by file; modules that have a text
	modules := map[string]string{}                         // names by folder
	for _, p := range packages {
		if p.Standard || p.Module == nil {
			continue
		}
		m := p.Module
		modules[m.Dir] = strings.TrimSpace(m.Path + " " + m.Version)
		for dir := p.Dir; len(dir) >= len(m.Dir); dir = filepath.Dir(dir) {
			addTexts(texts, m.Dir, dir, modules[m.Dir])
		}
		for _, sub := range []string{"licenses", "THIRD_PARTY_LICENSES"} {
			addTexts(texts, m.Dir, filepath.Join(m.Dir, sub), modules[m.Dir])
		}
		if m.Version == "" {
			addTexts(texts, m.Dir, filepath.Join(m.Dir, "api", "page", "static", "vendor", "uplot"), modules[m.Dir])
		}
	}
	byTitle := func(a, b string) int { return strings.Compare(texts[a], texts[b]) } // folders differ between machines
	for _, file := range slices.SortedFunc(maps.Keys(texts), byTitle) {
		content, err := os.ReadFile(file) //nolint:gosec // go list names its folder
		if err != nil {
			return err
		}
		for dir := range modules {
			found[dir] = found[dir] || strings.HasPrefix(file, dir+string(filepath.Separator))
		}
		fmt.Fprintf(to, "\n======== %s\n\n%s", texts[file], content)
	}
	for dir, name := range modules {
		if !found[dir] {
			err = errors.Join(err, fmt.Errorf("%s has no license in %s", name, dir))
		}
	}
	return err
}

// list returns the packages of programs.
func list(ctx context.Context, programs []string) (all []linked, err error) {
	args := append([]string{"list", "-deps", "-json=Dir,Standard,Module"}, programs...)
	command := exec.CommandContext(ctx, "go", args...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	root := strings.TrimSpace(string(goroot))
	all = []linked{{Dir: root, Module: &struct{ Path, Version, Dir string }{"Go", "", root}}}
	for d := json.NewDecoder(strings.NewReader(string(output))); d.More(); {
		var p linked
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// addTexts adds the texts of licenses in a folder of a module.
func addTexts(texts map[string]string, module, dir, name string) {
	named := regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense|ftl|gpl)[^/]*$|-license(\.\w+)?$`)
	entries, _ := os.ReadDir(dir) // a module may lack the folder
	for _, e := range entries {
		if !e.Type().IsRegular() || !named.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		file := filepath.Join(dir, e.Name())
		title, err := filepath.Rel(module, file)
		if err != nil {
			title = file
		}
		texts[file] = name + ", " + title
	}
}
