package liveload

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Slurm is a cluster that answers Slurm's commands.
type Slurm struct {
	// Conf is the path of its slurm.conf.
	Conf string
}

// command returns one of Slurm's commands with its environment: times in Unix seconds where Slurm honours that.
func (s Slurm) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.Conf, "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0")
	return cmd
}

// run runs a command and returns what it prints.
func (s Slurm) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := s.command(ctx, name, args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %q: %w: %s", name, args, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}

// Size returns the nodes of the partition short and the processors of each.
func (s Slurm) Size(ctx context.Context) (nodes, cpus int, err error) {
	out, err := s.run(ctx, "sinfo", "-h", "-p", "short", "-o", "%D %c")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(out) { // one for each state
		var n, c int
		if _, err := fmt.Sscan(line, &n, &c); err != nil {
			return 0, 0, fmt.Errorf("sinfo printed %q: %w", line, err)
		}
		if nodes += n; cpus > 0 && c != cpus {
			return 0, 0, fmt.Errorf("nodes of %d and of %d processors: the load is for equal ones", cpus, c)
		}
		cpus = c
	}
	return nodes, cpus, nil
}

// sbatchArgs are the options of sbatch for a job, command included.
func sbatchArgs(j *Job) []string {
	args := []string{
		"--output=/dev/null", "--chdir=/tmp", "--uid=" + j.User, "-p", j.Queue, "-n", strconv.Itoa(j.Procs),
		"-t", strconv.Itoa(j.Minutes),
	}
	if j.Nodes > 0 {
		args = append(args, "-N", strconv.Itoa(j.Nodes))
	}
	return append(args, "--wrap", fmt.Sprintf("sleep %.2f", j.Run))
}

// submit submits a job and returns its number.
func (s Slurm) submit(ctx context.Context, j *Job) (string, error) {
	return s.run(ctx, "sbatch", append([]string{"--parsable"}, sbatchArgs(j)...)...)
}

// testOnly asks sbatch when a job would start, which it prints on the standard error.
func (s Slurm) testOnly(ctx context.Context, j *Job) TestOnly {
	t := TestOnly{Asked: time.Now()}
	cmd := s.command(ctx, "sbatch", append([]string{"--test-only"}, sbatchArgs(j)...)...)
	out, err := cmd.CombinedOutput()
	t.Seconds = time.Since(t.Asked).Seconds()
	t.Text = strings.TrimSpace(string(out))
	if err != nil {
		t.Text += " (" + err.Error() + ")"
		return t
	}
	if at, err := parseTestOnly(t.Text); err == nil {
		t.Start = at
	}
	return t
}

// empty reports whether no job runs or waits.
func (s Slurm) empty(ctx context.Context) (bool, error) {
	out, err := s.run(ctx, "squeue", "-h", "-o", "%A")
	return out == "", err
}

// fates returns what sacct knows of the jobs of this cluster.
func (s Slurm) fates(ctx context.Context) ([]Fate, error) {
	out, err := s.run(ctx, "sacct", "-a", "-X", "-n", "-P", "-S", "now-1day", "-E", "now",
		"--format=JobID,Submit,Start,End,State")
	if err != nil || out == "" {
		return nil, err
	}
	return parseFates(out)
}
