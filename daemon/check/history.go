package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
	"github.com/waitcast/waitcast/history"
)

// maxNamed is the maximum number of files with one kind of problem that have a finding of their own.
const maxNamed = 5

// historyCheck checks the files that a cluster's key history.files names.
type historyCheck struct {
	*checker
	of      *config.Cluster
	options collector.Options
	known   []collector.Format
	about   string
	checked map[string]bool // the checked paths, because two patterns may match one file
	formats map[string]int  // formats has the number of files by format
	// readable is the number of files that can be read.
	readable int
	// problems has the number of files for each kind of problem. unnamed is the number of files without a finding of
	// their own, because many files have the same problem.
	problems map[string]int
	unnamed  int
}

// histories checks the files of a cluster's history: which files match, whether they can be read, and in which format
// they are. The daemon imports all files or none.
func (c *checker) histories(configured *config.Cluster) {
	if len(configured.History.Files) == 0 {
		return
	}
	options, err := daemon.CollectorOptions(*configured)
	if err != nil {
		return // the unknown time zone has a finding already
	}
	h := &historyCheck{checker: c, of: configured, options: options, known: history.Formats(c.opts.Now),
		about: "cluster " + configured.Name, checked: map[string]bool{}, formats: map[string]int{},
		problems: map[string]int{}}
	for _, pattern := range configured.History.Files {
		h.pattern(pattern)
	}
	h.summary()
}

// pattern checks the files that match one pattern.
func (h *historyCheck) pattern(pattern string) {
	paths, err := daemon.HistoryPaths(pattern)
	switch {
	case errors.Is(err, fs.ErrPermission):
		h.add("history.files", Failed, h.about, letRead(filepath.Dir(pattern), h.User, err), "history.files: %v", err)
		return
	case err != nil:
		h.add("history.files", Failed, h.about, "correct history.files; without these files no history is imported",
			"history.files: %v", err)
		return
	}
	var bytes int64
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
		}
	}
	h.add("history.files", OK, h.about, "", "history: %s matches %s, %s: %s", pattern, plural(len(paths), "file"),
		size(bytes), listed(paths))
	for _, path := range paths {
		if !h.checked[path] {
			h.checked[path] = true
			h.file(path)
		}
	}
}

// listed returns the names of files. If there are many, it returns the first and the last.
func listed(paths []string) string {
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	if n := len(names); n > maxNamed {
		return strings.Join(names[:maxNamed-2], ", ") + ", ..., " + names[n-1]
	}
	return strings.Join(names, ", ")
}

// file checks one file.
func (h *historyCheck) file(path string) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist): // the path is a link whose target does not exist
		h.problem("history.files", Failed, "correct history.files", path, "history: %v", err)
		return
	case err == nil && info.IsDir():
		h.problem("history.files", Failed, "name the files in it: "+filepath.Join(path, "*"), path,
			"history: %s is a folder", path)
		return
	case err == nil && !info.Mode().IsRegular():
		h.problem("history.files", Failed, "correct history.files", path, "history: %s is not a regular file", path)
		return
	}
	access, readable := h.access(path, false, letRead)
	if access.Status != OK {
		h.problem("history.readable", access.Status, access.Hint, path, "history: %s", access.Text)
	} else {
		h.readable++
	}
	if readable {
		h.format(path)
	}
}

// format checks the format of one file by its beginning.
func (h *historyCheck) format(path string) {
	recognize := history.Config{Formats: h.known, Options: h.options, Now: h.now}
	found, err := history.FormatOf(path, &recognize)
	wanted := h.of.History.Format
	switch {
	case errors.Is(err, history.ErrEmpty):
		h.problem("history.format", Warning, "nothing to do if it is to be empty", path, "history: %s is empty", path)
	case errors.Is(err, history.ErrUnrecognized) && wanted != config.Auto:
		h.problem("history.format", Warning, "look at it: is it the right file?", path,
			"history: the first lines of %s contain no job in format %s or another known one", path, wanted)
	case errors.Is(err, history.ErrUnrecognized):
		h.problem("history.format", Failed, "leave it out of history.files, or set history.format", path,
			"history: the first lines of %s contain no job in a known format", path)
	case err != nil:
		h.problem("history.format", Failed, "look at it: is the file whole?", path, "history: %v", err)
	case wanted != config.Auto && wanted != found.Name:
		h.problem("history.format", Failed, "set history.format to auto, or name other files", path,
			"history: %s is in format %s, but history.format is %s", path, found.Name, wanted)
	default:
		h.formats[found.Name]++
	}
}

// problem adds a finding about one file. If many files have the same problem, only the first ones get a finding.
func (h *historyCheck) problem(id string, status Status, hint, path, format string, args ...any) {
	kind := id + strings.ReplaceAll(hint, path, "")
	if h.problems[kind]++; h.problems[kind] > maxNamed {
		h.unnamed++
		return
	}
	h.add(id, status, h.about, hint, format, args...)
}

// summary adds the findings about all files together.
func (h *historyCheck) summary() {
	if h.readable > 0 {
		h.add("history.readable", OK, h.about, "", "history: %s can be read", plural(h.readable, "file"))
	}
	counts, set := []string{}, map[string]bool{}
	for name := range h.formats {
		set[name] = true
	}
	for _, name := range names(set) {
		counts = append(counts, fmt.Sprintf("%d %s", h.formats[name], name))
	}
	if len(counts) > 0 {
		h.add("history.format", OK, h.about, "", "history: formats of the files: %s", strings.Join(counts, ", "))
	}
	if h.unnamed > 0 {
		h.add("history.files", Warning, h.about, "", "history: %s with the same problems",
			plural(h.unnamed, "further file"))
	}
}
