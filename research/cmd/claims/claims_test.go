package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPagesAreCovered fails if README.md or a page of docs has a figure without a source in claims.yaml, or if
// claims.yaml has an entry for a text that no longer exists.
func TestPagesAreCovered(t *testing.T) {
	table, err := read("claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found, err := pages(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range table.uncovered(found) {
		t.Error(w)
	}
	for _, c := range table.Measured {
		for _, e := range c.Compare {
			if n := len(e.Page.FindAllString(found[c.Page], -1)); n != 1 {
				t.Errorf("%s: %d places match %v, want 1", c.Page, n, e.Page)
			}
		}
	}
}

// TestFigures proves that a number with a unit or with two decimals is a figure, but code, levels of quantiles, years,
// sections and small numbers are not.
func TestFigures(t *testing.T) {
	for text, want := range map[string][]string{
		"It took 118 ms instead of 11 ms.":              {"118 ms", "11 ms"},
		"| commits | 9,800 /s | 630 /s | 14 µs |":       {"9,800 /s", "630 /s", "14 µs"},
		"15,000 lines a second and 144 MiB.":            {"15,000 lines a second", "144 MiB"},
		"a loss of .515 (-.08), 44.6 % below":           {".515", "-.08", "44.6 %"},
		"| KTH | .53|.633 |":                            {".53", ".633"},
		"cor1 .143.":                                    {".143"},
		"the .95 quantile of ln(wait + 60 s)":           nil,
		"Zakay 2013, section 4.1, 12 jobs, Slurm 22.05": nil,
		"with `--for 10s`, or `.77`":                    nil,
	} {
		if diff := cmp.Diff(want, figures(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestUncovered proves which mistakes are reported: a figure without an entry in the table, an entry whose text is in
// no block or in two blocks of the page, and a timing without a command. Figures in code, in pages that a command makes
// and in pages without claims are not reported.
func TestUncovered(t *testing.T) {
	table := Table{
		Generated: []Generated{{Page: "docs/made.md"}},
		Timings:   []Page{{Page: "docs/fast.md"}}, Without: []Page{{Page: "docs/settings.md"}},
		Measured: []Claim{{Page: "README.md", Text: []string{"known", "gone", "twice"}},
			{Page: "docs/none.md", Text: []string{"x"}}},
		Definitions: []Page{{Page: "README.md", Text: []string{"waits at most"}}},
	}
	got := table.uncovered(map[string]string{
		"README.md": "# 7 ms\n\nA known 12 ms,\nand 13 ms.\n\nIt waits at most 5 s.\n\n    code: 5 s\n\n```\n6 " +
			"s\n```\n\ntwice\n\ntwice\n\n" +
			"Then somebody wrote that it\ntakes 17 % of a core.\n",
		"docs/made.md":     "1 ms",
		"docs/settings.md": "1 ms",
		"docs/fast.md":     "By `make bench`:\n\n| a | 3 ms |\n\nIt takes 4 ms.\n",
	})
	want := []string{
		`README.md: the table's text "gone" is in 0 blocks, want 1`,
		`README.md: the table's text "twice" is in 2 blocks, want 1`,
		`README.md:18: research/cmd/claims/claims.yaml does not say where ["17 %"] come from`,
		`docs/fast.md:5: no command is named that measures ["4 ms"]`,
		`docs/none.md: the table speaks of a page that is not there`,
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMeasure proves when a figure counts as reproduced: if the command gives it to the last printed digit. If it
// differs by no more than allowed, it is within tolerance. Any other figure fails, as does a command that fails. A
// command that lacks its data or takes long is not run.
func TestMeasure(t *testing.T) {
	r := runner{root: t.TempDir(), shared: t.TempDir(), pages: map[string]string{"p": "r is .53 of 11,293."},
		ran: map[string]result{}}
	claim := func(by string, within float64) Claim {
		return Claim{Page: "p", Text: []string{"r"}, By: by, Compare: []Compare{{
			Page:   pattern{regexp.MustCompile(`r is (?P<r>\S+) of (?P<n>[\d,]+)`)},
			Output: pattern{regexp.MustCompile(`n (?P<n>\d+) r (?P<r>\S+)`)}, Within: within,
		}}}
	}
	lacking, long := claim("false", 0), claim("false", 0)
	lacking.Needs = []string{"traces/none"}
	long.Full = true
	for _, c := range []struct {
		name, want string
		claim      Claim
	}{
		{"rounded", reproduced, claim("echo n 11293 r 0.526", 0)},
		{"off", failed, claim("echo n 11293 r 0.536", 0)},
		{"off by little", within, claim("echo n 11293 r 0.536", .01)},
		{"another number", failed, claim("echo n 11294 r 0.526", .01)},
		{"nothing said", failed, claim("echo", 0)},
		{"command fails", failed, claim("echo n 11293 r 0.526; false", 0)},
		{"test skipped", missing, claim("echo '--- SKIP: TestX'", 0)},
		{"without data", missing, lacking},
		{"long", notRerun, long},
		{"varies", notRerun, Claim{Page: "p", Text: []string{"r"}, By: "false", Varies: "timing"}},
		{"once", once, Claim{Page: "p", Text: []string{"r"}, Once: "by hand"}},
	} {
		if got := r.measure(t.Context(), c.claim); got.what != c.want {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
}
