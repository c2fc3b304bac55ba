package liveload

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Record has one submission, and the answers of the daemon and of `sbatch --test-only` just before it. It is a line of
// asked.jsonl.
type Record struct {
	Seed uint64 `json:"seed"`
	Job
	// ID is the number that Slurm gave the job. It is empty if Slurm refused the job; then Trouble has the reason.
	ID      string `json:"id"`
	Trouble string `json:"trouble,omitempty"`
	// Submitted is the time at which the command sbatch that submits the job was started.
	Submitted time.Time `json:"submitted"`
	TestOnly  TestOnly  `json:"test_only"`
	Answer    Answer    `json:"waitcast"`
}

// TestOnly is the answer of `sbatch --test-only`.
type TestOnly struct {
	Asked   time.Time `json:"asked"`
	Seconds float64   `json:"seconds"` // duration of the command in seconds
	Text    string    `json:"text"`
	// Start is the start time that the text names, in whole seconds; zero if it names none.
	Start time.Time `json:"start,omitzero"`
}

// Answer is the answer of the daemon.
type Answer struct {
	Asked   time.Time `json:"asked"`
	Seconds float64   `json:"seconds"` // duration of the request in seconds
	// Refusal is the reason why there is no answer; empty if there is one.
	Refusal string `json:"refusal,omitempty"`
	// Wait is the unchanged body of the answer of GET /v1/wait.
	Wait json.RawMessage `json:"wait,omitempty"`
}

// Quantiles returns the quantiles of the wait in the answer by their levels, in seconds. Null, which means "never",
// becomes +Inf. It returns nil if there is no answer.
func (a *Answer) Quantiles() (map[float64]float64, error) {
	if len(a.Wait) == 0 {
		return nil, nil
	}
	var wait struct {
		Seconds map[string]*float64 `json:"wait_seconds"`
	}
	if err := json.Unmarshal(a.Wait, &wait); err != nil {
		return nil, fmt.Errorf("the daemon's answer: %w", err)
	}
	out := map[float64]float64{}
	for name, seconds := range wait.Seconds {
		percent, err := strconv.Atoi(strings.TrimPrefix(name, "p"))
		if err != nil {
			return nil, fmt.Errorf("the daemon's answer has a level %q: %w", name, err)
		}
		level := float64(percent) / 100
		if out[level] = math.Inf(1); seconds != nil {
			out[level] = *seconds
		}
	}
	return out, nil
}

// Fate is the outcome of a job, of one attempt of a requeued job, or of a task of an array, from sacct. Times are in
// whole seconds. It is a line of truth.jsonl.
type Fate struct {
	ID     string    `json:"id"`
	Submit time.Time `json:"submit"`
	Start  time.Time `json:"start,omitzero"` // zero if the job never started
	End    time.Time `json:"end,omitzero"`   // zero if the job has not ended
	State  string    `json:"state"`
}

// Wait returns the seconds from the submission to the start.
func (f *Fate) Wait() float64 { return f.Start.Sub(f.Submit).Seconds() }

// parseTestOnly returns the start time in the output of `sbatch --test-only`, where it is in Unix seconds.
func parseTestOnly(text string) (time.Time, error) {
	_, rest, ok := strings.Cut(text, "to start at ")
	if !ok {
		return time.Time{}, errors.New("it names no start")
	}
	word, _, _ := strings.Cut(rest, " ")
	unix, err := strconv.ParseInt(word, 10, 64)
	return time.Unix(unix, 0).UTC(), err
}

// parseFates parses the output of `sacct -X -n -P --format=JobID,Submit,Start,End,State` with times in Unix seconds.
func parseFates(text string) ([]Fate, error) {
	var out []Fate
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) != 5 {
			return nil, fmt.Errorf("sacct printed %q: want 5 fields", line)
		}
		f := Fate{ID: fields[0], State: fields[4]}
		for i, to := range []*time.Time{&f.Submit, &f.Start, &f.End} {
			if word := fields[i+1]; word != "Unknown" && word != "None" {
				unix, err := strconv.ParseInt(word, 10, 64)
				if err != nil {
					return nil, fmt.Errorf("sacct printed %q: %w", line, err)
				}
				*to = time.Unix(unix, 0).UTC()
			}
		}
		if f.Submit.IsZero() {
			return nil, fmt.Errorf("sacct printed %q: no submission", line)
		}
		out = append(out, f)
	}
	return out, nil
}

// These are the names of the files of a run.
const (
	settingsFile = "run.json"
	recordsFile  = "asked.jsonl"
	fatesFile    = "truth.jsonl"
	reasonsFile  = "reasons.jsonl"
	doneFile     = "done"
	databaseFile = "waitcast.db"
	logFile      = "slurmctld.log"
)

// appendLine appends v to a file as a line of JSON.
func appendLine(path string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // research data
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// readLines reads a file of JSON lines.
func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path) //nolint:gosec // whoever runs this names it
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	var out []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(out)+1, err)
		}
		out = append(out, v)
	}
	return out, lines.Err()
}

// parseLog returns the waits of jobs in seconds, by job, from the submissions and starts in a slurmctld.log. The first
// start of a job counts. Tasks of arrays are left out.
func parseLog(text []byte) (map[string]float64, error) {
	line := regexp.MustCompile(`^\[([0-9T:.-]+)\] (_slurm_rpc_submit_batch_job:|sched: Allocate|` +
		`sched/backfill: _start_job: Started) JobId=([0-9]+) `)
	submitted, out := map[string]time.Time{}, map[string]float64{}
	for l := range bytes.Lines(text) {
		m := line.FindSubmatch(l)
		if m == nil {
			continue
		}
		at, err := time.ParseInLocation("2006-01-02T15:04:05.000", string(m[1]), time.Local)
		if err != nil {
			return nil, fmt.Errorf("slurmctld.log: %w", err)
		}
		id := string(m[3])
		if bytes.HasPrefix(m[2], []byte("_slurm_rpc")) {
			submitted[id] = at
		} else if from, ok := submitted[id]; ok {
			out[id] = at.Sub(from).Seconds()
			delete(submitted, id) // a requeued job starts again later
		}
	}
	return out, nil
}

// readRun reads the records in a run's folder, and the fates of its jobs by id.
func readRun(dir string) ([]Record, map[string]Fate, error) {
	records, err := readLines[Record](filepath.Join(dir, recordsFile))
	if err != nil {
		return nil, nil, err
	}
	fates, err := readLines[Fate](filepath.Join(dir, fatesFile))
	if err != nil {
		return nil, nil, err
	}
	return records, joined(fates), nil
}

// whole returns the id of a job without the number of its task.
func whole(id string) string {
	id, _, _ = strings.Cut(id, "_")
	return id
}

// joined returns one outcome for each job, by id. Submission and start are the earliest ones of the attempts of a
// requeued job, or of the tasks of an array. The end is the latest one.
func joined(fates []Fate) map[string]Fate {
	byID := map[string]Fate{}
	for _, f := range fates {
		id := whole(f.ID)
		before, ok := byID[id]
		f.ID = id
		if ok {
			f.End = latest(f.End, before.End)
			if f.Submit.After(before.Submit) {
				f.Submit = before.Submit
			}
			if f.Start.IsZero() || !before.Start.IsZero() && before.Start.Before(f.Start) {
				f.Start = before.Start
			}
		}
		byID[id] = f
	}
	return byID
}
