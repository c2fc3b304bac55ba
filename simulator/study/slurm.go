package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Array runs a plan as a Slurm job array. Each task runs a part of the plan, and Array collects the results. It needs
// sbatch and squeue, and a folder that all nodes share under the same name.
type Array struct {
	// Command is the command of a task, with absolute paths. The arguments --part K/N --out FILE are added to it.
	Command []string
	// Dir is the folder with the parts, their logs, and a file about the submitted array.
	Dir     string
	Tasks   int      // number of parts; 0 means one for each cell, but at most 100
	AtOnce  int      // number of tasks that may run at once; 0 means no limit except Slurm's
	Options []string // further options of sbatch
	// Say, if set, is called with messages about submissions and waits.
	Say func(text string)
	// Done, if set, is called at each check with the number of cells that are known to be done.
	Done func(done, of int)
}

// MissingError reports that the array has ended and parts of the study are not done. Array submits them again only if
// the same command is run again.
type MissingError struct {
	Dir   string
	Tasks []int
	Of    int // total number of tasks
}

// Error returns a message with the tasks and their logs.
func (e *MissingError) Error() string {
	return fmt.Sprintf("the Slurm job is over, but of %d parts these are missing: %s; %s says why. The same command "+
		"submits those again",
		e.Of, spans(e.Tasks), filepath.Join(e.Dir, fmt.Sprintf("part-%d-of-%d.log", e.Tasks[0], e.Of)))
}

// submitted is the content of the file that records a submitted array.
type submitted struct {
	Job   string `json:"job"`
	Study string `json:"study"`
}

// Run submits the parts that out and the folder do not have yet, waits until Slurm has run them, and writes out. The
// result is the same as if the plan had been run on this host. If parts are then missing, Run returns a *MissingError.
// If an array of this study that was submitted before is still in Slurm's queue, Run waits for that array and submits
// nothing. When the context ends, the array continues.
func (a *Array) Run(ctx context.Context, p *Plan, out string) ([]Row, error) {
	if a.Tasks == 0 {
		a.Tasks = min(100, len(p.cells))
	}
	if a.Tasks < 1 || a.Tasks > len(p.cells) {
		return nil,
			&OptionError{"parts", strconv.Itoa(a.Tasks), fmt.Sprintf("1 up to the number of runs, %d", len(p.cells))}
	}
	if err := os.MkdirAll(a.Dir, 0o777); err != nil { //nolint:gosec // umask decides
		return nil, err
	}
	rows, err := a.gather(p, out)
	if err != nil {
		return nil, err
	}
	job, err := a.note(p)
	if err != nil {
		return nil, err
	}
	if missing := a.missing(p, rows); len(missing) > 0 {
		live := false
		if job != "" {
			if live, err = inQueue(ctx, job); err != nil {
				return nil, err
			}
		}
		if live {
			a.say("waiting for Slurm job %s, which was submitted before", job)
		} else if job, err = a.submit(ctx, p, missing); err != nil {
			return nil, err
		}
		if err := a.wait(ctx, p, out, job); err != nil {
			return nil, err
		}
		if rows, err = a.gather(p, out); err != nil {
			return nil, err
		}
		if missing := a.missing(p, rows); len(missing) > 0 {
			return nil, &MissingError{a.Dir, missing, a.Tasks}
		}
	}
	return p.writeAll(out, rows)
}

func (a *Array) say(format string, args ...any) {
	if a.Say != nil {
		a.Say(fmt.Sprintf(format, args...))
	}
}

// gather returns the rows of out and of all parts, and reports their number to Done.
func (a *Array) gather(p *Plan, out string) (map[int]Row, error) {
	names, err := filepath.Glob(filepath.Join(globEscape(a.Dir), "part-*-of-*.csv"))
	if err != nil {
		return nil, err
	}
	all := map[int]Row{}
	for _, name := range append(names, out) {
		rows, _, err := p.readRows(name)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, rows)
	}
	if a.Done != nil {
		a.Done(len(all), len(p.cells))
	}
	return all, nil
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// missing returns the parts for which rows are missing.
func (a *Array) missing(p *Plan, rows map[int]Row) []int {
	lacks := map[int]bool{}
	for _, c := range p.cells {
		if _, ok := rows[c.Index]; !ok {
			lacks[c.Index%a.Tasks] = true
		}
	}
	return slices.Sorted(maps.Keys(lacks))
}

func (a *Array) noteFile() string { return filepath.Join(a.Dir, "array.json") }

// note returns the job number of the array that was last submitted for this study. It returns "" if there is none. The
// error is an *OtherStudyError if the folder belongs to another study.
func (a *Array) note(p *Plan) (string, error) {
	text, err := os.ReadFile(a.noteFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	var n submitted
	if err := json.Unmarshal(text, &n); err != nil {
		return "", fmt.Errorf("%s: %w; delete it if no Slurm job of this study is left", a.noteFile(), err)
	}
	if n.Study != p.id {
		return "", &OtherStudyError{a.Dir, n.Study, p.id}
	}
	return n.Job, nil
}

// spans formats sorted numbers in Slurm's notation: 0-3,7.
func spans(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		k := i
		for k+1 < len(numbers) && numbers[k+1] == numbers[k]+1 {
			k++
		}
		text := strconv.Itoa(numbers[i])
		if k > i {
			text += "-" + strconv.Itoa(numbers[k])
		}
		out, i = append(out, text), k+1
	}
	return strings.Join(out, ",")
}

// submit submits parts and records the array's job number.
func (a *Array) submit(ctx context.Context, p *Plan, parts []int) (string, error) {
	array := spans(parts)
	if a.AtOnce > 0 {
		array += "%" + strconv.Itoa(a.AtOnce)
	}
	name := filepath.Join(a.Dir, "part-%s-of-"+strconv.Itoa(a.Tasks))
	args := []string{
		"--parsable", "--job-name=waitcast-study", "--array=" + array,
		// In the name of the log Slurm replaces %a by the index of the task, and %% by %.
		"--output=" + strings.ReplaceAll(filepath.Dir(name), "%", "%%") + "/" +
			fmt.Sprintf(filepath.Base(name), "%a") + ".log",
	}
	cmd := exec.CommandContext(ctx, "sbatch", append(args, a.Options...)...)
	cmd.Stdin = strings.NewReader(a.script())
	var answer, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &answer, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("sbatch --array=%s: %w: %s", array, err, bytes.TrimSpace(complaint.Bytes()))
	}
	job, _, _ := strings.Cut(strings.TrimSpace(answer.String()), ";") // the cluster's name may follow the number
	if _, err := strconv.ParseUint(job, 10, 64); err != nil {
		return "", fmt.Errorf("sbatch --parsable answered %q, which is not the number of a job", answer.String())
	}
	a.say("submitted parts %s of %d as Slurm job %s", spans(parts), a.Tasks, job)
	text, err := json.Marshal(submitted{job, p.id})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(a.noteFile(), append(text, '\n'), 0o666); err != nil { //nolint:gosec // umask decides
		return "", fmt.Errorf("slurm job %s is submitted, but: %w", job, err)
	}
	return job, nil
}

// script returns the shell script that each task of the array runs.
func (a *Array) script() string {
	words := make([]string, len(a.Command))
	for i, w := range a.Command {
		words[i] = quoted(w)
	}
	return fmt.Sprintf(
		"#!/bin/sh\nexec %s --part \"$SLURM_ARRAY_TASK_ID/%d\" --out %s\"$SLURM_ARRAY_TASK_ID\"-of-%d.csv\n",
		strings.Join(words, " "), a.Tasks, quoted(filepath.Join(a.Dir, "part-")), a.Tasks)
}

// quoted quotes a word for the shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// wait waits until no task of an array is in Slurm's queue. It polls after 1 s, and then at growing intervals of up to
// 30 s. The error reports that the context ended, that squeue failed 20 times in a row, or that a part cannot be read.
func (a *Array) wait(ctx context.Context, p *Plan, out, job string) error {
	failures := 0
	for pause := time.Second; ; pause = min(30*time.Second, pause*3/2) {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf(
				"interrupted: Slurm job %s goes on ('scancel %s' ends it); the same command waits for it: %w", job,
				job, ctx.Err())
		case <-timer.C:
		}
		live, err := inQueue(ctx, job)
		switch {
		case err == nil && !live:
			return nil
		case err == nil:
			failures = 0
		case ctx.Err() != nil: // the next round returns the error
		default: // slurmctld may be restarting
			if failures++; failures == 20 {
				return fmt.Errorf("slurm job %s goes on, as far as is known; the same command waits for it: %w", job,
					err)
			}
		}
		if _, err := a.gather(p, out); err != nil {
			return err
		}
	}
}

// inQueue runs squeue. It reports whether any task of an array is waiting, running or completing.
func inQueue(ctx context.Context, job string) (bool, error) {
	var answer, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, "squeue", "--noheader", "--jobs="+job, "--format=%i") //nolint:gosec // a number
	cmd.Stdout, cmd.Stderr = &answer, &complaint
	if err := cmd.Run(); err != nil {
		if strings.Contains(complaint.String(), "Invalid job id") { // the array ended long ago and Slurm has removed it
			return false, nil
		}
		return false, fmt.Errorf("squeue --jobs=%s: %w: %s", job, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return len(bytes.TrimSpace(answer.Bytes())) > 0, nil
}
