package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/research/benchtext"
)

// skipped is the prefix of the stored text of a command that could not be run.
const skipped = "skipped: "

// divider is the prefix of the line that begins a command's part of the stored text. benchstat ignores such lines.
const divider = "# "

// readKept returns the stored outputs by command; none if the file does not exist.
func readKept(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]string{}, nil
	} else if err != nil {
		return nil, err
	}
	out, now := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, divider); ok {
			now = strings.TrimSpace(name)
			continue
		}
		out[now] += line
	}
	return out, nil
}

func writeKept(path string, kept map[string]string) error {
	var out strings.Builder
	for _, name := range benchtext.Keys(kept) {
		out.WriteString(divider + name + "\n" + kept[name])
	}
	return os.WriteFile(path, []byte(out.String()), 0o644) //nolint:gosec // it is in the repository
}

func write(path string, list []budget, kept map[string]string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := table(list, kept)
	if err != nil {
		return err
	}
	made, err := benchtext.Between(string(page), "budgets", text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i := range list {
		text := kept[list[i].by.text(0)]
		if !strings.Contains(text, "BenchmarkReading/") {
			continue
		}
		part, err := readingTable(text)
		if err != nil {
			return err
		}
		if made, err = benchtext.Between(made, "reading", part); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		break
	}
	return os.WriteFile(path, []byte(made), 0o644) //nolint:gosec // a page that everybody may read
}

// table returns the budgets as Markdown, and then the machines on which they were measured.
func table(list []budget, kept map[string]string) (string, error) {
	var out strings.Builder
	out.WriteString("By `make bench`:\n\n| NAME | what | promised | measured | |\n|---|---|---|---|---|\n")
	machines := map[string][]string{} // names of budgets by machine
	for i := range list {
		b := &list[i]
		text, ok := kept[b.by.text(0)]
		if !ok {
			text = skipped + "not measured yet"
		}
		if why, is := strings.CutPrefix(text, skipped); is {
			fmt.Fprintf(&out, "| %s | %s | %s | %s | skipped |\n", b.name, b.what, b.promise(), strings.TrimSpace(why))
			continue
		}
		results, facts, err := benchtext.Read(strings.NewReader(text))
		if err != nil {
			return "", fmt.Errorf("%s: %w", b.by.text(0), err)
		}
		m := facts["machine"]
		if !slices.Contains(machines[m], b.name) {
			machines[m] = append(machines[m], b.name)
		}
		v, ok := b.figure(results)
		if !ok {
			fmt.Fprintf(&out, "| %s | %s | %s | %s of %s is not there | skipped |\n", b.name, b.what, b.promise(),
				b.unit, b.benchmark)
			continue
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", b.name, b.what, b.promise(), b.write(v),
			b.verdict(v, loaded(facts["load"], m)))
	}
	writeMachines(&out, machines)
	return out.String(), nil
}

// writeMachines writes which budgets were measured on which machine. It does not list the budgets of the machine on
// which most of them were measured.
func writeMachines(out *strings.Builder, machines map[string][]string) {
	names := benchtext.Keys(machines)
	if len(names) == 0 {
		return
	}
	most := slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(len(machines[a]), len(machines[b])) })
	rows := "All rows"
	for _, m := range names {
		if m == most {
			continue
		}
		rows = "All other rows"
		fmt.Fprintf(out, "\n%s: %s.\n", strings.Join(machines[m], ", "), m)
	}
	fmt.Fprintf(out, "\n%s: %s.\n", rows, most)
}

// readingTable returns the cost of reading each format as Markdown.
func readingTable(text string) (string, error) {
	results, facts, err := benchtext.Read(strings.NewReader(text))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "By `make bench BUDGETS=reading`, at load %s:\n\n| format | lines per CPU second | CPU time "+
		"of an import with learning | of which reading | times mawk | times mtail |\n|---|---|---|---|---|---|\n",
		facts["load"])
	for i := range results {
		name, v := strings.TrimPrefix(results[i].Name, "Reading/"), results[i].Values
		fmt.Fprintf(&out, "| %s | %.2f M | %.1f s | %.1f %% | %s | %s |\n", name, v["Mlines/s"], v["import-CPU-s"],
			v["percent-of-import"], ratio(v, "times-mawk"), ratio(v, "times-mtail"))
	}
	return out.String(), nil
}

// ratio formats a value that may not have been measured.
func ratio(values map[string]float64, unit string) string {
	v, ok := values[unit]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}
