package job_test

import (
	"testing"

	"github.com/waitcast/waitcast/job"
)

// TestCauseOf proves the class of each of Slurm's reasons: what a user can do about it. The reasons are those of
// job_reason_string (src/common/slurm_protocol_defs.c), and the descriptions that src/slurmctld/job_scheduler.c and
// node_scheduler.c put in their place.
func TestCauseOf(t *testing.T) {
	for reason, want := range map[string]job.Cause{
		"None": job.NoCause, "Resources": job.Resources, "Priority": job.Priority,
		"Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": job.Priority,
		"QOSMaxCpuPerUserLimit": job.LimitReached, "AssocGrpGRES": job.LimitReached,
		"MaxCpuPerAccount": job.LimitReached, "JobArrayTaskLimit": job.LimitReached, "JobHeldUser": job.OnHold,
		"Dependency": job.OnHold, "BeginTime": job.OnHold, "job requeued in held state": job.OnHold,
		"ReqNodeNotAvail, Reserved for maintenance": job.Unavailable, "PartitionDown": job.Unavailable,
		"Licenses": job.Unavailable, "SomethingNew": job.NoCause,
	} {
		if got := job.CauseOf(reason); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
		if got := job.ParseCause(want.String()); got != want {
			t.Errorf("%q is read as %q", want, got)
		}
	}
}
