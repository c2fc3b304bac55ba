package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const (
	// mostText is the maximum length in bytes of a text that the record contains. Of longer texts the record has only
	// the hash.
	mostText = 2000
	// mostShown and mostLines are the maximum numbers of differences and of their lines that are printed.
	mostShown, mostLines = 15, 40

	hashFile, textFile = "hashes.txt", "texts.txtar"
)

// record has the observations: normalized texts by name.
type record struct {
	work  string // the folder of this run, which is removed from texts
	mu    sync.Mutex
	texts map[string]string
	ours  map[string]bool // the input is our own, so that the text may be stored in the repository
}

// chapter is the part of a record that comes from one input.
type chapter struct {
	to   *record
	name string
	ours bool
}

func newRecord(work string) *record {
	return &record{work: work, texts: map[string]string{}, ours: map[string]bool{}}
}

// add adds an observation. If the name exists already, a number is appended to it.
func (c *chapter) add(name, text string) {
	r := c.to
	r.mu.Lock()
	defer r.mu.Unlock()
	base := c.name + "/" + name
	name = base
	for n := 2; ; n++ {
		if _, ok := r.texts[name]; !ok {
			break
		}
		name = fmt.Sprintf("%s #%d", base, n)
	}
	text = strings.ReplaceAll(text, r.work, "")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	r.texts[name], r.ours[name] = text, c.ours
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func (r *record) names() []string {
	names := make([]string, 0, len(r.texts))
	for name := range r.texts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// write stores the record in a folder of the repository.
func (r *record) write(dir string) error {
	var hashes strings.Builder
	archive := &txtar.Archive{}
	for _, name := range r.names() {
		text := r.texts[name]
		fmt.Fprintf(&hashes, "%s %s\n", hash(text), name)
		if r.ours[name] && len(text) <= mostText && !txtar.NeedsQuote([]byte(text)) {
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	return errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, hashFile), []byte(hashes.String()), 0o644),
		os.WriteFile(filepath.Join(dir, textFile), txtar.Format(archive), 0o644),
	)
}

// keep stores every text under its hash in a folder outside of the repository, so that a later run can show
// differences.
func (r *record) keep(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, text := range r.texts {
		path := filepath.Join(dir, hash(text))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// stored is a record as it was written.
type stored struct{ hashes, texts map[string]string }

func read(dir string) (*stored, error) {
	hashes, err := os.ReadFile(filepath.Join(dir, hashFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: write the first record with make golden RENEW=-renew", err)
	}
	if err != nil {
		return nil, err
	}
	s := &stored{hashes: map[string]string{}, texts: map[string]string{}}
	for line := range strings.Lines(string(hashes)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		s.hashes[name] = sum
	}
	archive, err := txtar.ParseFile(filepath.Join(dir, textFile))
	if err != nil {
		return nil, err
	}
	for _, f := range archive.Files {
		s.texts[f.Name] = string(f.Data)
	}
	return s, nil
}

// compare prints the differences from a stored record and returns the number of differing observations. A stored
// observation that is missing now counts as a difference if the function only returns true for its name. Texts that are
// missing in the record are looked up in kept.
func (r *record) compare(was *stored, kept string, only func(name string) bool, out io.Writer) int {
	all := r.names()
	for name := range was.hashes {
		if _, ok := r.texts[name]; !ok && only(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	differ := 0
	show := func(name, what string) {
		if differ++; differ <= mostShown {
			fmt.Fprintf(out, "%s: %s\n", name, what)
		} else if differ < 20*mostShown {
			fmt.Fprintf(out, "%s\n", name)
		}
	}
	for _, name := range all {
		text, now := r.texts[name]
		sum, before := was.hashes[name]
		switch {
		case !now:
			show(name, "it is gone")
		case !before:
			show(name, "it is new")
		case hash(text) != sum:
			show(name, difference(was, kept, name, text))
		}
	}
	return differ
}

func difference(was *stored, kept, name, text string) string {
	old, ok := was.texts[name]
	if !ok {
		data, err := os.ReadFile(filepath.Join(kept, was.hashes[name]))
		if err != nil {
			return fmt.Sprintf("it differs; the record holds its hash alone, and no earlier run kept its text in %s",
				kept)
		}
		old = string(data)
	}
	diff := strings.SplitAfter(cmp.Diff(strings.Split(old, "\n"), strings.Split(text, "\n")), "\n")
	if len(diff) > mostLines {
		diff = append(diff[:mostLines], fmt.Sprintf("... and %d lines more\n", len(diff)-mostLines))
	}
	return "it differs (- record, + now)\n" + strings.Join(diff, "")
}
