package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// rotation describes how logrotate rotates one log.
type rotation struct {
	// File is the configuration file that names the log, in the block that begins at line Block.
	File  string
	Block int
	// Line is the line of the directive create or nocreate in the block, and Directive is its text. Line is 0 if the
	// block has neither.
	Line      int
	Directive string
	settings
}

// settings are the directives that determine which file slurmctld writes to after a rotation.
type settings struct {
	copies  bool // copies is true for copytruncate or copy: the file is kept
	creates bool
	mode    fs.FileMode // the mode of the created file
	// If hasMode is false, the created file gets the mode and the access control list of the rotated file.
	hasMode bool
}

// findRotation searches logrotate's configuration and the files that it includes for the log. It returns nil if no
// file names the log.
func findRotation(main, log string) (*rotation, error) {
	c := logrotateConfig{logs: []string{log}}
	if real, err := filepath.EvalSymlinks(log); err == nil && real != log {
		c.logs = append(c.logs, real)
	}
	if err := c.read(main, settings{}); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return c.found, nil
}

// logrotateConfig reads logrotate's configuration (logrotate(8), logrotate.conf(5)) in search of one log.
type logrotateConfig struct {
	logs  []string // logs are all names of the log
	found *rotation
}

// taboo reports whether logrotate ignores a file with this name in a folder.
func taboo(name string) bool {
	for _, end := range []string{
		",v", ".bak", ".cfsaved", ".disabled", ".dpkg-bak", ".dpkg-del", ".dpkg-dist", ".dpkg-new",
		".dpkg-old", ".dpkg-tmp", ".rpmnew", ".rpmorig", ".rpmsave", ".swp", ".ucf-dist", ".ucf-new", ".ucf-old", "~",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return strings.HasPrefix(name, ".")
}

// read reads a file, or all files of a folder. A directive outside of a block applies to the rest of the file and to
// the files that the rest includes.
func (c *logrotateConfig) read(path string, outer settings) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return c.readFile(path, outer)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if taboo(e.Name()) || e.IsDir() {
			continue
		}
		if err := c.readFile(filepath.Join(path, e.Name()), outer); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads one file.
func (c *logrotateConfig) readFile(path string, outer settings) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var names []string
	var block *rotation // block is nil outside of blocks
	script := false
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		before, opens := strings.CutSuffix(strings.TrimSpace(line), "{")
		words := strings.Fields(before)
		switch {
		case script:
			script = len(words) == 0 || words[0] != "endscript"
		case block == nil && (opens || len(words) > 0 && strings.ContainsAny(words[0][:1], `/"'`)):
			names = append(names, words...)
			if opens {
				block = &rotation{File: path, Block: number, settings: outer}
			}
		case len(words) == 0:
		case words[0] == "}" && block != nil:
			if c.matches(names) {
				c.found = block
			}
			names, block = nil, nil
		case words[0] == "include" && block == nil && len(words) == 2:
			if err := c.read(words[1], outer); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case slices.Contains([]string{"postrotate", "prerotate", "firstaction", "lastaction", "preremove"}, words[0]):
			script = true
		case block == nil:
			if err := outer.set(words); err != nil {
				return fmt.Errorf("%s:%d: %w", path, number, err)
			}
		default:
			if err := block.set(words); err != nil {
				return fmt.Errorf("%s:%d: %w", path, number, err)
			}
			if strings.HasSuffix(words[0], "create") {
				block.Line, block.Directive = number, strings.Join(words, " ")
			}
		}
	}
	return nil
}

// matches reports whether one of the patterns of a block matches the log.
func (c *logrotateConfig) matches(names []string) bool {
	return slices.ContainsFunc(names, func(glob string) bool {
		glob = strings.Trim(glob, `"'`)
		return slices.ContainsFunc(c.logs, func(log string) bool { return matches(glob, log) })
	})
}

// set applies one directive.
func (s *settings) set(words []string) error {
	switch words[0] {
	case "copytruncate", "copy":
		s.copies = true
	case "nocopytruncate", "nocopy":
		s.copies = false
	case "nocreate":
		s.creates = false
	case "create":
		s.creates, s.hasMode = true, false
		if len(words) > 1 {
			mode, err := strconv.ParseUint(words[1], 8, 32)
			if err != nil {
				return fmt.Errorf("create: want a mode such as 0640, got %q", words[1])
			}
			s.mode, s.hasMode = fs.FileMode(mode), true
		}
	}
	return nil
}
