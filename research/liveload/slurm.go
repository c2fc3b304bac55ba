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

// Slurm is a cluster for which Slurm's commands can be run.
type Slurm struct {
	// Conf is the path of the cluster's slurm.conf.
	Conf string
}

// command returns a call of one of Slurm's commands for the cluster. Its environment requests times in Unix seconds,
// which Slurm prints where it supports that.
func (s Slurm) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+s.Conf, "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0")
	return cmd
}

// run runs one of Slurm's commands and returns its output, without spaces at both ends.
func (s Slurm) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := s.command(ctx, name, args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %q: %w: %s", name, args, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}

// Size returns the number of nodes in the partition short and the number of processors of each.
func (s Slurm) Size(ctx context.Context) (nodes, cpus int, err error) {
	out, err := s.run(ctx, "sinfo", "-h", "-p", "short", "-o", "%D %c")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(out) { // one line for each state
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

// sbatchArgs returns the arguments of sbatch for a job, with the job's script. follows is Slurm's number of the job
// whose end this job waits for.
func sbatchArgs(j *Job, follows string) []string {
	args := []string{
		"--output=/dev/null", "--chdir=/tmp", "--uid=" + j.User, "-p", j.Queue, "-n", strconv.Itoa(j.Procs),
		"-t", strconv.Itoa(j.Minutes),
	}
	if j.Nodes > 0 {
		args = append(args, "-N", strconv.Itoa(j.Nodes))
	}
	args = append(args, j.args(follows)...)
	return append(args, "--wrap", fmt.Sprintf("sleep %.2f", j.Run))
}

// submit submits a job and returns Slurm's number of it.
func (s Slurm) submit(ctx context.Context, j *Job, follows string) (string, error) {
	return s.run(ctx, "sbatch", append([]string{"--parsable"}, sbatchArgs(j, follows)...)...)
}

// testOnly runs `sbatch --test-only`, which prints when a job would start, on standard error.
func (s Slurm) testOnly(ctx context.Context, j *Job, follows string) TestOnly {
	t := TestOnly{Asked: time.Now()}
	cmd := s.command(ctx, "sbatch", append([]string{"--test-only"}, sbatchArgs(j, follows)...)...)
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

// cancelWaiting cancels a job if it still waits.
func (s Slurm) cancelWaiting(ctx context.Context, id string) error {
	_, err := s.run(ctx, "scancel", "--quiet", "--state=PENDING", id)
	return err
}

// reserve creates the reservation for a window of a load whose first submission is at begun.
func (s Slurm) reserve(ctx context.Context, w *Window, begun time.Time) error {
	_, err := s.run(ctx, "scontrol", w.args(begun)...)
	return err
}

// reasons returns, by job, the reasons for which jobs wait, from squeue. The waiting tasks of an array count as one job
// with the array's number.
func (s Slurm) reasons(ctx context.Context) (map[string]string, error) {
	out, err := s.run(ctx, "squeue", "--noheader", "--all", "--states=PENDING", "--format=%F|%r")
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		id, reason, ok := strings.Cut(strings.TrimSpace(line), "|")
		if !ok {
			return nil, fmt.Errorf("squeue printed %q: want a number and a reason", line)
		}
		found[id] = reason
	}
	return found, nil
}

// empty reports whether no job runs or waits.
func (s Slurm) empty(ctx context.Context) (bool, error) {
	out, err := s.run(ctx, "squeue", "-h", "-o", "%A")
	return out == "", err
}

// fates returns sacct's records of the cluster's jobs of the last 24 hours. Each attempt of a requeued job, and each
// task of an array, is a Fate.
func (s Slurm) fates(ctx context.Context) ([]Fate, error) {
	out, err := s.run(ctx, "sacct", "-a", "-X", "-D", "-n", "-P", "-S", "now-1day", "-E", "now",
		"--format=JobID,Submit,Start,End,State")
	if err != nil || out == "" {
		return nil, err
	}
	return parseFates(out)
}
