package daemon_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// plan defines what the writer process writes, and how.
type plan struct {
	Path  string // path of the live log; of its folder if Dated
	Dated bool   // one file per day of the records
	Seed  uint64
	Jobs  int
	// RotateEvery is the mean number of lines between renames; 0 means never.
	RotateEvery int
}

// playWriter is the writer process. For every number n on its standard input it makes n steps and prints how many steps
// are left.
func playWriter(arg string) int {
	var p plan
	err := json.Unmarshal([]byte(arg), &p)
	if err == nil {
		err = p.write()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "writer:", err)
		return 1
	}
	return 0
}

func (p *plan) write() error {
	w := &logWriter{plan: p, rng: rand.New(rand.NewPCG(p.Seed, 99))}
	w.left = workload(&testing.B{}, p.Seed, p.Jobs)
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		n, err := strconv.Atoi(commands.Text())
		if err != nil {
			return err
		}
		for range n {
			if err := w.step(); err != nil {
				return err
			}
		}
		fmt.Println(len(w.left))
	}
	return commands.Err()
}

// logWriter writes a log like a scheduler, but under harder conditions: lines in parts, and rotations after any line.
type logWriter struct {
	*plan
	rng     *rand.Rand
	left    []record
	file    *os.File
	pending string // the rest of a line whose beginning was written
	rotated int
}

// step writes up to a dozen lines. The last one may stay incomplete until the next step.
func (w *logWriter) step() error {
	for range 1 + w.rng.IntN(12) {
		if err := w.finishLine(); err != nil {
			return err
		}
		if len(w.left) == 0 {
			return nil
		}
		if err := w.rotate(); err != nil {
			return err
		}
		w.pending, w.left = w.left[0].text, w.left[1:]
		for w.rng.IntN(3) == 0 && len(w.pending) > 1 {
			n := 1 + w.rng.IntN(len(w.pending)-1)
			if _, err := w.file.WriteString(w.pending[:n]); err != nil {
				return err
			}
			w.pending = w.pending[n:]
		}
	}
	if len(w.left) > 0 && w.rng.IntN(2) == 0 {
		return nil // an unfinished line
	}
	return w.finishLine()
}

func (w *logWriter) finishLine() error {
	if w.pending == "" {
		return nil
	}
	_, err := w.file.WriteString(w.pending)
	w.pending = ""
	return err
}

// rotate opens the file for the next line.
func (w *logWriter) rotate() error {
	path := w.Path
	switch {
	case w.Dated:
		path = filepath.Join(w.Path, w.left[0].at.Format("20060102"))
		if w.file != nil && w.file.Name() == path {
			return nil
		}
	case w.file != nil && (w.RotateEvery == 0 || w.rng.IntN(w.RotateEvery) > 0):
		return nil
	case w.file != nil:
		w.rotated++
		if err := os.Rename(path, fmt.Sprintf("%s-%05d", path, w.rotated)); err != nil {
			return err
		}
	}
	if w.file != nil {
		if err := w.file.Close(); err != nil {
			return err
		}
	}
	var err error
	w.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// finalLog returns the content of all files of a plan, in the order in which they were written.
func finalLog(t *testing.T, p *plan) string {
	t.Helper()
	pattern := filepath.Join(p.Path, "*")
	if !p.Dated {
		pattern = p.Path + "-*"
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Dated {
		names = append(names, p.Path)
	}
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()
}
