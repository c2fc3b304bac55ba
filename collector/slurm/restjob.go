package slurm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/waitcast/waitcast/collector"
)

// restJob is what is read of a job of GET /slurm/v0.0.N/jobs. Version 0.0.38 writes numbers as such, or null for none,
// and one word for a state; later ones write numbers as {"set", "infinite", "number"} and lists of words (dump_job_info
// in src/plugins/openapi/v0.0.38/jobs.c; JOB_INFO and JOB_STATE in src/plugins/data_parser/v0.0.40/parsers.c;
// slurm.schedmd.com/rest_api.html).
type restJob struct {
	JobID           restNumber `json:"job_id"`
	ArrayJobID      restNumber `json:"array_job_id"`
	ArrayTaskID     restNumber `json:"array_task_id"`
	ArrayTaskString string     `json:"array_task_string"`
	HetJobID        restNumber `json:"het_job_id"`
	HetJobOffset    restNumber `json:"het_job_offset"`
	State           restWords  `json:"job_state"`
	Reason          string     `json:"state_reason"`
	Partition       string     `json:"partition"`
	User            string     `json:"user_name"`
	Account         string     `json:"account"`
	QOS             string     `json:"qos"`
	CPUs            restNumber `json:"cpus"`
	Nodes           restNumber `json:"node_count"`
	Tasks           restNumber `json:"tasks"`
	TimeLimit       restNumber `json:"time_limit"` // minutes
	Submit          restNumber `json:"submit_time"`
	Eligible        restNumber `json:"eligible_time"`
	Start           restNumber `json:"start_time"`
	End             restNumber `json:"end_time"`
	Priority        restNumber `json:"priority"`
	Shared          restWords  `json:"shared"`
	Exclusive       restWords  `json:"exclusive"`
	Requested       string     `json:"tres_req_str"`
	Given           string     `json:"tres_alloc_str"`
	PerJob          string     `json:"tres_per_job"`
	PerNode         string     `json:"tres_per_node"`
	PerTask         string     `json:"tres_per_task"`
}

// restNumber is a number; set is false for none and for an infinite one.
type restNumber struct {
	n   int64
	set bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *restNumber) UnmarshalJSON(text []byte) error {
	*v = restNumber{}
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	if text[0] != '{' {
		var x float64
		if err := json.Unmarshal(text, &x); err != nil {
			return err
		}
		return v.from(x)
	}
	var o struct {
		Set      bool    `json:"set"`
		Infinite bool    `json:"infinite"`
		Number   float64 `json:"number"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	if !o.Set || o.Infinite {
		return nil
	}
	return v.from(o.Number)
}

func (v *restNumber) from(x float64) error {
	if !(x >= 0 && x < 1<<53) {
		return fmt.Errorf("%v is no number of anything", x)
	}
	*v = restNumber{n: int64(x), set: true}
	return nil
}

func (v restNumber) String() string { return strconv.FormatInt(v.n, 10) }

// restWords are some words: a text, or a list of texts.
type restWords []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *restWords) UnmarshalJSON(text []byte) error {
	*w = nil
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(w))
	}
	var one *string
	if err := json.Unmarshal(text, &one); err != nil {
		return err
	}
	if one != nil {
		*w = restWords{*one}
	}
	return nil
}

// stateFlags are the flags of a state that squeue shows in its place, the first of them that is there (job_state_string
// in src/common/slurm_protocol_defs.c).
var stateFlags = [...]string{
	"COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT",
	"STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING", "POWER_UP_NODE",
}

// state returns the state as squeue shows it.
func (w restWords) state() string {
	for _, flag := range stateFlags {
		if slices.Contains(w, flag) {
			return flag
		}
	}
	if len(w) == 0 {
		return ""
	}
	return w[0]
}

// id returns the job as squeue shows it.
func (j *restJob) id() string {
	switch {
	case j.ArrayJobID.n > 0 && j.ArrayTaskID.set:
		return fmt.Sprintf("%d_%d", j.ArrayJobID.n, j.ArrayTaskID.n)
	case j.ArrayJobID.n > 0 && j.ArrayTaskString != "":
		return fmt.Sprintf("%d_[%s]", j.ArrayJobID.n, j.ArrayTaskString)
	case j.HetJobID.n > 0:
		return fmt.Sprintf("%d+%d", j.HetJobID.n, j.HetJobOffset.n)
	}
	return j.JobID.String()
}

// restJob reads a job: it is brought into the form of squeue's fields, so that both are read in one way.
func (p *squeueParser) restJob(text []byte) (row, error) {
	var j restJob
	if err := json.Unmarshal(text, &j); err != nil {
		return row{}, collector.Bad(collector.ReasonField, "", "%w", err)
	}
	limit, shared, given := "UNLIMITED", "OK", j.Given
	if j.TimeLimit.set && j.TimeLimit.n < maxMinutes {
		limit = fmt.Sprintf("%d-%02d:%02d:00", j.TimeLimit.n/(24*60), j.TimeLimit.n/60%24, j.TimeLimit.n%60)
	}
	if slices.Contains(j.Shared, "none") || slices.Contains(j.Exclusive, "true") {
		shared = "NO"
	}
	if given == "" {
		given = j.Requested
	}
	fields := [len(squeueFields)]string{
		j.id(), j.JobID.String(), j.State.state(), j.Partition, j.User, j.Account, j.QOS, j.CPUs.String(),
		j.Nodes.String(), limit, j.Submit.String(), j.Eligible.String(), j.Start.String(), j.End.String(), j.Reason,
		j.Priority.String(), shared, given, j.PerJob, j.PerNode, j.PerTask, j.Tasks.String(),
	}
	cells := make([][]byte, len(fields))
	for i, f := range fields {
		cells[i] = []byte(f)
	}
	return p.job(cells)
}
