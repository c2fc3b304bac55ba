package job

import "strings"

// Cause is a class of reasons why a job waits. For each cause a different action helps the user.
type Cause uint8

// These are the causes.
const (
	// NoCause means that the cause is unknown.
	NoCause Cause = iota
	// Resources means that too few resources are free for the first job in line. A smaller or shorter job may start
	// sooner.
	Resources
	// Priority means that other jobs start first.
	Priority
	// LimitReached means that the user, account, quality of service, queue or array has reached a limit. Jobs of the
	// user or account must end, or the limit must be raised.
	LimitReached
	// OnHold means that the job is held, waits for another job, or has a later begin time. Somebody can release it.
	OnHold
	// Unavailable means that the requested resources are not available: nodes are down or reserved, licenses are
	// missing, the queue is closed, or the request cannot be met.
	Unavailable
)

// String returns the cause's name, which answers use. It returns "" for NoCause.
func (c Cause) String() string {
	return [...]string{"", "resources", "priority", "limit", "hold", "unavailable"}[c]
}

// ParseCause returns the cause with a name that String returns. It returns NoCause for another text.
func ParseCause(name string) Cause {
	for c := Resources; c <= Unavailable; c++ {
		if c.String() == name {
			return c
		}
	}
	return NoCause
}

// CauseOf returns the cause for Slurm's reason why a job waits (squeue(1), JOB REASON CODES; job_reason_string in
// src/common/slurm_protocol_defs.c). It returns NoCause for an unknown word and for None.
func CauseOf(reason string) Cause {
	switch reason {
	case "Resources", "Cleaning", "Prolog":
		return Resources
	case "Priority":
		return Priority
	case "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue",
		"MaxRequeue", "DeadLine", "FedJobLock", "NonZeroExitCode", "RaisedSignal":
		return OnHold
	case "NodeLimit", "TimeLimit", "MaxMemPerLimit", "InvalidAccount",
		"InvalidQOS", "AccountNotAllowed", "BadConstraints", "InactiveLimit",
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
	case strings.HasPrefix(reason, "Nodes required for job"):
		// The reason is "... are DOWN, DRAINED or reserved for jobs in higher priority partitions". Usually the nodes
		// are reserved: slurmctld reserves the nodes of a partition whose first job waits, so that jobs of lower
		// partitions cannot use them.
		return Priority
	case strings.HasPrefix(reason, "ReqNodeNotAvail"), strings.HasPrefix(reason, "BurstBuffer"),
		strings.HasPrefix(reason, "Partition"):
		return Unavailable
	case strings.HasPrefix(reason, "QOS"), strings.HasPrefix(reason, "Assoc"),
		strings.HasPrefix(reason, "Max") && strings.HasSuffix(reason, "PerAccount"):
		return LimitReached
	}
	return NoCause
}
