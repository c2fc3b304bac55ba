package slurm

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/waitcast/waitcast/collector"
)

// restJob has the used fields of a job in the answer to GET /slurm/v0.0.N/jobs. Version 0.0.38 writes plain numbers, or
// null for none, and one word for a state. Later versions write numbers as {"set", "infinite", "number"}, and states as
// lists of words. Sources: dump_job_info in src/plugins/openapi/v0.0.38/jobs.c; JOB_INFO and JOB_STATE in
// src/plugins/data_parser/v0.0.40/parsers.c; slurm.schedmd.com/rest_api.html.
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
	Dependency      string     `json:"dependency"`
	Nice            int32      `json:"nice"`
}

// stateFlags are the flags that squeue shows in place of a state. The first one that is set counts (job_state_string
// in src/common/slurm_protocol_defs.c).
var stateFlags = [...]string{
	"COMPLETING", "STAGE_OUT", "CONFIGURING", "EXPEDITING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
	"SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING", "POWER_UP_NODE",
}

// state returns the state that squeue shows.
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

// id returns the id that squeue shows for the job.
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

// restJob converts a job to the fields of squeue, so that both are parsed in the same way.
func (p *squeueParser) restJob(text []byte) (row, error) {
	var j restJob
	if err := unmarshal(text, &j); err != nil {
		return row{}, collector.Bad(collector.ReasonField, "", "%w", err)
	}
	shared, given := "OK", j.Given
	if slices.Contains(j.Shared, "none") || slices.Contains(j.Exclusive, "true") {
		shared = "NO"
	}
	if given == "" {
		given = j.Requested
	}
	fields := [len(squeueFields)]string{
		j.id(), j.JobID.String(), j.State.state(), j.Partition, j.User, j.Account, j.QOS, j.CPUs.String(),
		j.Nodes.String(), j.TimeLimit.minutes(), j.Submit.String(), j.Eligible.String(), j.Start.String(),
		j.End.String(), j.Reason, j.Priority.String(), shared, given, j.PerJob, j.PerNode, j.PerTask, j.Tasks.String(),
		j.Dependency, strconv.Itoa(int(j.Nice)),
	}
	cells := make([][]byte, len(fields))
	for i, f := range fields {
		cells[i] = []byte(f)
	}
	return p.job(cells)
}
