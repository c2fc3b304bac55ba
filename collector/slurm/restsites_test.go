package slurm_test

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// restNumber is a number in the form that slurmrestd has written since data parser 0.0.40.
type restNumber struct {
	Set    bool  `json:"set"`
	Number int64 `json:"number"`
}

// TestRestOfReleases parses answers of slurmrestd from four releases of Slurm and compares running and waiting jobs
// with the decoded JSON. The number of running jobs is in the README of the files.
func TestRestOfReleases(t *testing.T) {
	for _, c := range []struct {
		folder, version string
		running         int
	}{
		{"24.05_0.0.41", "v0.0.41", 3}, {"24.11_0.0.42", "v0.0.42", 7}, {"25.05_0.0.43", "v0.0.43", 6},
		{"25.11_0.0.44", "v0.0.44", 4},
	} {
		t.Run(c.folder, func(t *testing.T) {
			text, err := os.ReadFile(refdata.Shared(t, "logs/slurmrestd/"+c.folder+"/slurm-jobs.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Jobs []struct {
					ID        int64      `json:"job_id"`
					State     []string   `json:"job_state"`
					Partition string     `json:"partition"`
					User      string     `json:"user_name"`
					CPUs      restNumber `json:"cpus"`
					Limit     restNumber `json:"time_limit"`
					Start     restNumber `json:"start_time"`
					Submit    restNumber `json:"submit_time"`
				} `json:"jobs"`
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			s := newFakeRest(t, c.version, string(text))
			answer := newRest(s.socket, alone()).Ask(t.Context(), time.Now())
			if answer.Err != nil || len(answer.Bad) > 0 || answer.Lines != len(want.Jobs) {
				t.Fatalf("%d jobs read, %d refused, %v; want %d", answer.Lines, len(answer.Bad), answer.Err,
					len(want.Jobs))
			}
			running := 0
			for _, w := range want.Jobs {
				kind := job.Start
				switch {
				case slices.Contains(w.State, "RUNNING"):
					running++
				case slices.Contains(w.State, "PENDING"):
					kind = job.Submit
				default:
					continue
				}
				at := slices.IndexFunc(answer.Events, func(ev job.Event) bool {
					id, _, _ := strings.Cut(ev.ID, "_")
					return ev.Kind == kind && id == strconv.FormatInt(w.ID, 10)
				})
				if at < 0 {
					t.Errorf("no %s of job %d", kind, w.ID)
					continue
				}
				ev := answer.Events[at]
				if int64(ev.Procs) != w.CPUs.Number || ev.TimeLimit != time.Duration(w.Limit.Number)*time.Minute ||
					ev.Queue != w.Partition || ev.User != w.User || ev.Times.Submit.Unix() != w.Submit.Number ||
					kind == job.Start && ev.Times.Start.Unix() != w.Start.Number {
					t.Errorf("%+v, want %+v", ev, w)
				}
			}
			if running != c.running {
				t.Errorf("%d jobs run, want %d", running, c.running)
			}
		})
	}
}
