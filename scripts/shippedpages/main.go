// Command shippedpages writes the pages that packages contain: those in docs, README.md and CHANGELOG.md. Links to
// files that the packages do not contain become links to the project's public repository.
//
//	go run ./scripts/shippedpages -ref v1.2.3 OUT
//
// The command writes README.md, CHANGELOG.md, docs/*.md and docs/formats/*.md to OUT; they link to each other as in
// the repository. It also writes CHANGELOG.public.md, in which all links lead to the public repository, for a package
// that has only this page.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// public is the address of the project's public repository.
const public = "https://github.com/waitcast/waitcast/"

func main() {
	if err := run(os.Args[1:], "."); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "shippedpages:", err)
		os.Exit(1)
	}
}

// run writes the pages of the repository at root.
func run(args []string, root string) error {
	flags := flag.NewFlagSet("shippedpages", flag.ContinueOnError)
	ref := flags.String("ref", "main", "branch or tag of the public repository to which links lead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: shippedpages [-ref REF] OUT")
	}
	s := shipment{root: root, ref: *ref, shipped: map[string]bool{"README.md": true, "CHANGELOG.md": true,
		"LICENSE": true, "docs/formats": true}}
	docs := map[string]bool{} // the pages of a package without README.md and CHANGELOG.md
	for _, pattern := range []string{"docs/*.md", "docs/formats/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, file := range found {
			page := path.Join(path.Dir(pattern), filepath.Base(file))
			docs[page], s.shipped[page] = true, true
		}
	}
	if len(docs) == 0 {
		return fmt.Errorf("no pages in %s/docs: run it at the top of the repository", root)
	}
	out := flags.Arg(0)
	for page := range docs {
		if err := (&shipment{root, *ref, docs}).write(page, filepath.Join(out, page)); err != nil {
			return err
		}
	}
	for _, page := range []string{"README.md", "CHANGELOG.md"} {
		if err := s.write(page, filepath.Join(out, page)); err != nil {
			return err
		}
	}
	return (&shipment{root: root, ref: *ref}).write("CHANGELOG.md", filepath.Join(out, "CHANGELOG.public.md"))
}

// shipment is a set of files that a package contains.
type shipment struct {
	root, ref string
	shipped   map[string]bool // paths in the repository
}

// write writes a page with rewritten links to a file.
func (s *shipment) write(page, to string) error {
	text, err := os.ReadFile(filepath.Join(s.root, page))
	if err != nil {
		return err
	}
	rewritten, err := s.rewrite(page, string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // everybody may read these pages
		return err
	}
	return os.WriteFile(to, []byte(rewritten), 0o644) //nolint:gosec // everybody may read these pages
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	image   = regexp.MustCompile(`(!\[[^\]]*\]\()([^)\s]+)(\))`)
	anyLink = regexp.MustCompile(`(\]\()([^)\s]+)(\))`)
)

// rewrite returns the text of a page with its links rewritten, except in fenced blocks.
func (s *shipment) rewrite(page, text string) (string, error) {
	var b strings.Builder
	var errs error
	prose := func(part string) {
		for _, kind := range []*regexp.Regexp{image, anyLink} {
			part = kind.ReplaceAllStringFunc(part, func(link string) string {
				m := kind.FindStringSubmatch(link)
				target, err := s.target(page, m[2], kind == image)
				errs = errors.Join(errs, err)
				return m[1] + target + m[3]
			})
		}
		b.WriteString(part)
	}
	from := 0
	for _, at := range fenced.FindAllStringIndex(text, -1) {
		prose(text[from:at[0]])
		b.WriteString(text[at[0]:at[1]])
		from = at[1]
	}
	prose(text[from:])
	return b.String(), errs
}

// target returns the target of a link of a page.
func (s *shipment) target(page, link string, isImage bool) (string, error) {
	file, place, _ := strings.Cut(link, "#")
	if file == "" || strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return link, nil
	}
	name := path.Join(path.Dir(page), file)
	if s.shipped[name] {
		return link, nil
	}
	info, err := os.Stat(filepath.Join(s.root, name))
	if err != nil {
		return link, fmt.Errorf("the link to %s leads nowhere", link)
	}
	kind := "blob/"
	switch {
	case info.IsDir():
		kind = "tree/"
	case isImage:
		kind = "raw/"
	}
	out := public + kind + s.ref + "/" + name
	if place != "" {
		out += "#" + place
	}
	return out, nil
}
