package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestRewrite proves which links are rewritten, and to which addresses.
func TestRewrite(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"docs/a.md", "docs/images/x.png", "docs/formats/f.md", "CONTRIBUTING.md"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &shipment{dir, "v1", map[string]bool{"docs/a.md": true, "docs/formats/f.md": true}}
	for _, c := range []struct{ page, text, want string }{
		{"docs/b.md", "[a](a.md#x) [f](formats/f.md) [here](#y) [w](https://example.org/a.md)",
			"[a](a.md#x) [f](formats/f.md) [here](#y) [w](https://example.org/a.md)"},
		{"docs/formats/g.md", "[f](f.md) [a](../a.md)\n[c](../../CONTRIBUTING.md#z)",
			"[f](f.md) [a](../a.md)\n[c](" + public + "blob/v1/CONTRIBUTING.md#z)"},
		{"docs/b.md", "![two\nlines](images/x.png) [i](images/x.png) [d](images)",
			"![two\nlines](" + public + "raw/v1/docs/images/x.png) [i](" + public + "blob/v1/docs/images/x.png) [d](" +
				public + "tree/v1/docs/images)"},
		{"docs/b.md", "```\n[c](../CONTRIBUTING.md)\n```\n", "```\n[c](../CONTRIBUTING.md)\n```\n"},
	} {
		if got, err := s.rewrite(c.page, c.text); err != nil || got != c.want {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
	if _, err := s.rewrite("docs/b.md", "[n](nothing.md)"); err == nil || !strings.Contains(err.Error(), "nothing.md") {
		t.Errorf("a broken link: %v", err)
	}
}

// TestShippedLinks proves that each link of the pages in the packages leads to a page in the packages or to a file of
// the public repository, and that build and nfpm.yaml ship these pages.
func TestShippedLinks(t *testing.T) {
	out := t.TempDir()
	if err := run([]string{"-ref", "v1", out}, root); err != nil {
		t.Fatal(err)
	}
	// In the tarball, LICENSE is beside README.md.
	if err := os.WriteFile(filepath.Join(out, "LICENSE"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pages, outside := 0, 0
	err := filepath.WalkDir(out, func(page string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(page) != ".md" {
			return err
		}
		pages++
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		for _, m := range anyLink.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			file, _, _ := strings.Cut(m[2], "#")
			path := filepath.Join(filepath.Dir(page), file)
			if rest, ours := strings.CutPrefix(file, public); ours {
				_, name, ok := strings.Cut(rest, "/v1/")
				if !ok {
					continue // the repository itself, or its issues
				}
				outside++
				path = filepath.Join(root, name)
			} else if strings.Contains(file, "://") {
				continue
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[2])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 25 || outside < 20 {
		t.Errorf("%d pages with %d links to the public repository", pages, outside)
	}
	for file, want := range map[string][]string{
		"deploy/packages/build": {`shippedpages -ref "$ref" "$stage/pages"`, `cp -r "$2"/pages/docs `,
			`"$2"/pages/README.md`, `"$2"/pages/CHANGELOG.md`, `gzip -9nc "$stage/pages/CHANGELOG.public.md"`},
		"deploy/packages/nfpm.yaml": {`src: "${STAGE}/pages/docs/*.md"`, `src: "${STAGE}/pages/docs/formats/*.md"`},
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %s", file, part)
			}
		}
		if strings.Contains(string(text), " docs/") {
			t.Errorf("%s ships pages of docs as they are", file)
		}
	}
}
