package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// keep stores the outputs of commands that succeeded, so that a run that was stopped continues without repeating them.
// The outputs of one state of the code are in one folder.
type keep struct {
	root   string // of the repository
	folder string // "" if nothing is stored
}

// stored is a command that succeeded. Page is the hash of the page that it wrote, "" if it wrote none.
type stored struct {
	Command, Output, Page string
}

// newKeep returns a keep in a folder; "" for one that stores nothing. Its own folder there is named after the commit
// and the changes since, except those of pages, which commands write again.
func newKeep(ctx context.Context, root, folder string) (keep, error) {
	if folder == "" {
		return keep{root: root}, nil
	}
	state := sha256.New()
	for _, args := range [][]string{
		{"rev-parse", "HEAD"}, {"diff", "HEAD", "--", ".", ":!*.md", ":!*.csv", ":!*.svg", ":!deploy/grafana/*.json"},
	} {
		c := exec.CommandContext(ctx, "git", args...)
		c.Dir, c.Stdout, c.Stderr = root, state, os.Stderr
		if err := c.Run(); err != nil {
			return keep{}, fmt.Errorf("git %s: %w", args[0], err)
		}
	}
	folder, err := filepath.Abs(filepath.Join(folder, hex.EncodeToString(state.Sum(nil))[:16]))
	if err != nil {
		return keep{}, err
	}
	return keep{root, folder}, os.MkdirAll(folder, 0o750)
}

// file returns the path of the file for a command. page is the page that the command writes, "" if it writes none.
func (k keep) file(command, page string) string {
	sum := sha256.Sum256([]byte(command + "\n" + page))
	return filepath.Join(k.folder, hex.EncodeToString(sum[:8])+".json")
}

// output returns the stored output of a command. It returns false if there is none, or if the page is no longer what
// the command wrote.
func (k keep) output(command, page string) (string, bool, error) {
	if k.folder == "" {
		return "", false, nil
	}
	file := k.file(command, page)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return "", false, fmt.Errorf("%s: %w: remove it, and the command runs again", file, err)
	}
	now, err := k.hash(page)
	return s.Output, err == nil && s.Command == command && s.Page == now, err
}

// store stores the output of a command that has succeeded. After a crash the file is complete or missing.
func (k keep) store(command, page, output string) error {
	if k.folder == "" {
		return nil
	}
	hash, err := k.hash(page)
	if err != nil {
		return err
	}
	data, err := json.Marshal(stored{command, output, hash})
	if err != nil {
		return err
	}
	file := k.file(command, page)
	if err := os.WriteFile(file+".part", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

// hash returns the hash of a page, or of all files in a folder of pages; "" for no page.
func (k keep) hash(page string) (string, error) {
	if page == "" {
		return "", nil
	}
	sum := sha256.New()
	err := filepath.WalkDir(filepath.Join(k.root, page), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(sum, path)
		if err == nil {
			_, err = io.Copy(sum, f)
		}
		return errors.Join(err, f.Close())
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
