package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	anyLink     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingLine = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	namedPlace  = regexp.MustCompile(`<a name="([^"]+)">`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	fence       = regexp.MustCompile("(?ms)^```.*?^```")
)

// TestLinks fails if a page of the repository links to a file, or to a place in a page, that does not exist.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && name != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "dist" ||
			filepath.Base(filepath.Dir(name)) == "api" && e.Name() == "reference") { // links relative to docs
			return filepath.SkipDir
		}
		if e.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found, wrong := wrongLinks(string(text), name)
		seen += found
		for _, w := range wrong {
			t.Errorf("%s: %s", name, w)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 300 {
		t.Errorf("only %d links were found", seen)
	}
}

// TestWrongLinks proves that TestLinks can fail.
func TestWrongLinks(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# A `page` of [ours](page.md)\n\n## Here, too\n\n## Here, too\n\n<a name=\"there\"></a>\n\n" +
		"[1](#a-page-of-ours) [2](page.md#here-too) [3](#here-too-1) [4](#there) [5](https://example.org/#x)\n" +
		"[6](#nowhere) [7](nothing.md) [8](page.md#here-too-2) `[9](nothing.md)`\n\n" +
		"```\n[10](nothing.md)\n# not-here\n```\n" +
		"[11](#not-here)\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"#nowhere leads nowhere", "nothing.md leads nowhere", "page.md#here-too-2 leads nowhere",
		"#not-here leads nowhere",
	}
	if n, got := wrongLinks(text, page); n != 9 || !slices.Equal(got, want) {
		t.Errorf("%d links, got %q, want %q", n, got, want)
	}
}

// wrongLinks returns the number of links in a page, except those to other sites, and the broken ones.
func wrongLinks(text, page string) (found int, wrong []string) {
	for _, m := range anyLink.FindAllStringSubmatch(withoutCode(text), -1) {
		target := m[1]
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		found++
		file, place, _ := strings.Cut(target, "#")
		path := page
		if file != "" {
			path = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
		}
		if _, err := os.Stat(path); err != nil {
			wrong = append(wrong, target+" leads nowhere")
			continue
		}
		if place == "" || filepath.Ext(path) != ".md" {
			continue
		}
		other, err := os.ReadFile(path)
		if err != nil || !slices.Contains(places(string(other)), place) {
			wrong = append(wrong, target+" leads nowhere")
		}
	}
	return found, wrong
}

// withoutCode returns a page without its fenced blocks and spans of code.
func withoutCode(text string) string {
	return inlineCode.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
}

// places returns the anchors of a page: those of its headings, as GitHub makes them, and named ones.
func places(text string) []string {
	text = fence.ReplaceAllString(text, "")
	var out []string
	count := map[string]int{}
	for _, m := range headingLine.FindAllStringSubmatch(text, -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z', r > 127:
				return r
			}
			return -1
		}, strings.ToLower(linkText.ReplaceAllString(m[1], "$1")))
		n := count[anchor]
		if count[anchor]++; n > 0 {
			anchor = fmt.Sprintf("%s-%d", anchor, n)
		}
		out = append(out, anchor)
	}
	for _, m := range namedPlace.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}
