package job

import "strings"

// Cause is why a job waits, as people distinguish it; each calls for another action.
type Cause uint8

// The causes.
const (
	// NoCause is not known.
	NoCause Cause = iota
	// Resources is that too little is free for the first in line: a smaller or shorter job may start sooner.
	Resources
	// Priority is that others go first.
	Priority
	// LimitReached is that the user, account, quality of service, queue or array has as much as a limit allows: jobs of
	// one's own must end, or the limit be raised.
	LimitReached
	// OnHold is that it was held, waits for another job, or is not to begin yet: whoever did that can let it go.
	OnHold
	// Unavailable is that what it asks for is not there: nodes that are down or reserved, licenses, a closed queue, a
	// request that cannot be met.
	Unavailable
)

// String returns the cause as answers write it; "" for NoCause.
func (c Cause) String() string {
	return [...]string{"", "resources", "priority", "limit", "hold", "unavailable"}[c]
}

// CauseOf returns the cause that stands behind Slurm's word for why a job waits (squeue(1), JOB REASON CODES;
// job_reason_string in src/common/slurm_protocol_defs.c). NoCause for a word that is not known, and for None.
func CauseOf(reason string) Cause {
	switch reason {
	case "Resources", "Cleaning", "Prolog":
		return Resources
	case "Priority":
		return Priority
	case "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue",
		"MaxRequeue", "DeadLine", "FedJobLock", "NonZeroExitCode", "RaisedSignal":
		return OnHold
	case "PartitionTimeLimit", "PartitionNodeLimit", "NodeLimit", "TimeLimit", "MaxMemPerLimit", "InvalidAccount",
		"InvalidQOS", "AccountNotAllowed", "BadConstraints", "PartitionDown", "PartitionInactive", "InactiveLimit",
		"NodeDown", "FrontEndDown", "Licenses", "Reservation", "ReservationDeleted", "SystemFailure",
		"JobLaunchFailure",
		"QOSNotAllowed", "AssociationNotAllowed":
		return Unavailable
	}
	switch {
	case strings.HasPrefix(reason, "JobArrayTaskLimit"):
		return LimitReached
	case strings.HasPrefix(reason, "JobHeld"), strings.HasPrefix(reason, "job requeued in"),
		strings.HasPrefix(reason, "launch failed"):
		return OnHold
	case strings.HasPrefix(reason, "ReqNodeNotAvail"), strings.HasPrefix(reason, "Nodes required for job"),
		strings.HasPrefix(reason, "BurstBuffer"):
		return Unavailable
	case strings.HasPrefix(reason, "QOS"), strings.HasPrefix(reason, "Assoc"),
		strings.HasPrefix(reason, "Max") && strings.HasSuffix(reason, "PerAccount"):
		return LimitReached
	}
	return NoCause
}
