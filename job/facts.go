package job

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Facts are a scheduler's report about the machine and its rules. They are complete: an entry that is missing no longer
// exists. Every list has a fixed order, so that equal facts are equal values.
type Facts struct {
	// Nodes are the nodes of the machine, with one entry for each group of equal nodes.
	Nodes []NodeGroup `json:"nodes,omitempty"`
	// Outages are times at which nodes are not available, now or later: reservations and maintenance.
	Outages []Outage     `json:"outages,omitempty"`
	Queues  []QueueFacts `json:"queues,omitempty"`
	// Limits are the limits on running and waiting jobs: those of QOSs, of associations and of scopes.
	Limits []Limit `json:"limits,omitempty"`
	// QOSRules are the other rules of QOSs. Associations are the rules of accounts. A user has an entry if the user's
	// rules differ from the account's.
	QOSRules     []QOSRules    `json:"qos_rules,omitempty"`
	Associations []Association `json:"associations,omitempty"`
	// Preemption has the rules of preemption; nil if running jobs are not preempted, or if the scheduler does not
	// report it.
	Preemption *Preemption `json:"preemption,omitempty"`
	// Weights are the weights of the factors of a job's priority; nil if the scheduler does not report them.
	Weights *Weights `json:"weights,omitempty"`
	Shares  []Share  `json:"shares,omitempty"`
	// AccountShares are the shares of whole accounts. They have no user and no factor.
	AccountShares []Share `json:"account_shares,omitempty"`
	// SharesAt is the time at which the scheduler reported the shares, which change all the time.
	SharesAt time.Time `json:"shares_at,omitzero"`
	// Accounts are all accounts, sorted by name. QOSs are the names of all qualities of service. Both are empty if
	// the scheduler does not list them.
	Accounts []Account `json:"accounts,omitempty"`
	QOSs     []string  `json:"qoss,omitempty"`
	// Enforced has the rules of accounts and QOSs that the scheduler enforces.
	Enforced Enforced `json:"enforced,omitzero"`
	// Version is the version of the scheduler, such as "22.05.8".
	Version string `json:"version,omitempty"`
	// Untried is true if waitcast was not tried with Version or a newer one.
	Untried bool `json:"untried,omitempty"`
	// Private has Slurm's PrivateData: the kinds of data that are hidden from other users, sorted and separated by
	// commas, or "none". It is empty if the scheduler does not report it.
	Private string `json:"private,omitempty"`
}

// PrivateJobs reports whether the scheduler hides the jobs of a user from other users. known is false if the scheduler
// does not report this. f may be nil.
func (f *Facts) PrivateJobs() (hidden, known bool) {
	if f == nil || f.Private == "" {
		return false, false
	}
	return slices.Contains(strings.Split(f.Private, ","), "jobs"), true
}

// Equal reports whether g has the same facts. It compares their encodings.
func (f *Facts) Equal(g *Facts) bool {
	a, errA := json.Marshal(f)
	b, errB := json.Marshal(g)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// NodeGroup is a number of nodes with the same resources in the same queues.
type NodeGroup struct {
	// Queues are the queues that can use the nodes, sorted.
	Queues []string `json:"queues"`
	// Count is the number of nodes. Down is the number of these nodes that cannot run jobs now, because they are
	// down, drained, failing or not responding.
	Count int `json:"count"`
	Down  int `json:"down,omitempty"`
	// Names are the names of the nodes that can run jobs, sorted. Names is empty for machines with more than
	// MostNamed nodes.
	Names []string `json:"names,omitempty"`
	// Node has the resources of each node.
	Node NodeResources `json:"node"`
}

// NodeResources are the resources of one node.
type NodeResources struct {
	Procs int `json:"procs"`
	// Threads is the number of processors per core; 0 means unknown.
	Threads int `json:"threads,omitempty"`
	// Memory is the memory in bytes; 0 means unknown.
	Memory  int64  `json:"memory_bytes,omitempty"`
	GPUs    int    `json:"gpus,omitempty"`
	GPUType string `json:"gpu_type,omitempty"`
	// Features are the scheduler's names for features of the node, sorted and separated by commas.
	Features string `json:"features,omitempty"`
}

// Outage is a time during which some nodes are not available to everybody: a reservation or maintenance. A job cannot
// start on these nodes if its time limit reaches into the outage.
type Outage struct {
	Name        string `json:"name"`
	Maintenance bool   `json:"maintenance,omitempty"`
	// From is the beginning. Until is the end; a zero Until means that the end is unknown.
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
	// Queues are the queues that can use the reserved nodes, sorted.
	Queues []string `json:"queues"`
	// Nodes and Procs are the reserved numbers of nodes and processors.
	Nodes int `json:"nodes,omitempty"`
	Procs int `json:"procs"`
	// Memory is the reserved memory in bytes.
	Memory int64 `json:"memory_bytes,omitempty"`
	GPUs   int   `json:"gpus,omitempty"`
	// Users and Accounts are the users and accounts that may use the reserved nodes, sorted. They are empty if nobody
	// may, or if the denied ones are listed instead.
	Users    []string `json:"users,omitempty"`
	Accounts []string `json:"accounts,omitempty"`
	// DeniedUsers and DeniedAccounts may not use the reserved nodes; all others may. They are sorted.
	DeniedUsers    []string `json:"denied_users,omitempty"`
	DeniedAccounts []string `json:"denied_accounts,omitempty"`
	// NodeList has the names of the nodes in the scheduler's notation ("n[01-04]"). Queue is the queue in which the
	// reservation was made.
	NodeList string `json:"node_list,omitempty"`
	Queue    string `json:"queue,omitempty"`
	// Names are the names of the reserved nodes, sorted. Names is empty for machines with more than MostNamed nodes.
	Names []string `json:"names,omitempty"`
	// Flags are the scheduler's flags of the reservation (Slurm's MAINT, FLEX, DAILY), sorted.
	Flags []string `json:"flags,omitempty"`
}

// InForce reports whether the outage has begun by an instant and is not over then.
func (o *Outage) InForce(at time.Time) bool {
	return !o.From.After(at) && (o.Until.IsZero() || o.Until.After(at))
}

// QueueFacts are the rules of one queue.
type QueueFacts struct {
	Name string `json:"name"`
	// Tier orders queues: a job of a queue with a higher tier starts before all jobs of queues with a lower tier
	// (Slurm's PriorityTier).
	Tier int `json:"tier,omitempty"`
	// Factor is the queue's contribution to a job's priority (Slurm's PriorityJobFactor).
	Factor int `json:"factor,omitempty"`
	// Down is true while the queue starts no jobs. Closed is true while it accepts none.
	Down   bool `json:"down,omitempty"`
	Closed bool `json:"closed,omitempty"`
	// MaxTime is the longest time limit. DefaultTime is the time limit of a job that requests none. 0 means that
	// there is no such limit.
	MaxTime     time.Duration `json:"max_time,omitempty"`
	DefaultTime time.Duration `json:"default_time,omitempty"`
	// MaxNodes and MinNodes are the maximum and minimum number of nodes of one job; 0 means no limit.
	MaxNodes int `json:"max_nodes,omitempty"`
	MinNodes int `json:"min_nodes,omitempty"`
	// Whole is true if every job gets whole nodes.
	Whole bool `json:"whole,omitempty"`
	// QOS is the quality of service whose limits apply to all jobs of the queue.
	QOS string `json:"qos,omitempty"`
	// Accounts and QOSs may use the queue. DeniedAccounts and DeniedQOSs may not. The lists are sorted. An empty list
	// has no effect.
	Accounts       []string `json:"accounts,omitempty"`
	DeniedAccounts []string `json:"denied_accounts,omitempty"`
	QOSs           []string `json:"qoss,omitempty"`
	DeniedQOSs     []string `json:"denied_qoss,omitempty"`
	// Oversubscribe is the number of jobs that may share one processor; 0 means that no jobs share one. Forced is
	// true if a job cannot request not to share.
	Oversubscribe int  `json:"oversubscribe,omitempty"`
	Forced        bool `json:"forced,omitempty"`
	// ExclusiveUser is true if a node runs jobs of only one user at a time. Reserved is true if only jobs in a
	// reservation are accepted.
	ExclusiveUser bool `json:"exclusive_user,omitempty"`
	Reserved      bool `json:"reserved,omitempty"`
	// MaxNodeProcs is the maximum number of processors of a job on each node; 0 means no limit.
	MaxNodeProcs int `json:"max_node_procs,omitempty"`
	// ProcMemory and NodeMemory are the default memory of a job, in bytes per processor and per node. MaxProcMemory
	// and MaxNodeMemory are the maximum. 0 means that the queue has no value of its own.
	ProcMemory    int64 `json:"proc_memory_bytes,omitempty"`
	NodeMemory    int64 `json:"node_memory_bytes,omitempty"`
	MaxProcMemory int64 `json:"max_proc_memory_bytes,omitempty"`
	MaxNodeMemory int64 `json:"max_node_memory_bytes,omitempty"`
	// PreemptMode says what happens to preempted jobs of the queue (Slurm's CANCEL, REQUEUE, SUSPEND,GANG); "" means
	// the machine's mode. GraceTime is the time that a job may still run when it is preempted.
	PreemptMode string        `json:"preempt_mode,omitempty"`
	GraceTime   time.Duration `json:"grace_time,omitempty"`
}

// NoneAllowed is the value of a limit that allows nothing, because 0 means no limit.
const NoneAllowed = -1

// Limit is a limit on running or waiting jobs. It belongs to a QOS, to an association (an account, and perhaps a user
// and a queue), or to a Scope. 0 means no limit, NoneAllowed means that nothing is allowed. A limit of an account on
// all its jobs together includes the jobs of the accounts below it: see Account.Parent.
type Limit struct {
	QOS     string `json:"qos,omitempty"`
	Account string `json:"account,omitempty"`
	User    string `json:"user,omitempty"`
	Queue   string `json:"queue,omitempty"`
	// PerUser is true for a limit on each user of the QOS or account. PerAccount is true for a limit on each account
	// of the QOS. Both are false for a limit on all jobs together.
	PerUser    bool `json:"per_user,omitempty"`
	PerAccount bool `json:"per_account,omitempty"`
	Jobs       int  `json:"jobs,omitempty"`
	// Submitted is the maximum number of running and waiting jobs.
	Submitted int   `json:"submitted,omitempty"`
	Procs     int   `json:"procs,omitempty"`
	Nodes     int   `json:"nodes,omitempty"`
	GPUs      int   `json:"gpus,omitempty"`
	Memory    int64 `json:"memory_bytes,omitempty"`
	// If GPUType is set, the entry limits only GPUs of this type. If it is empty, the entry limits GPUs of any type.
	GPUType string `json:"gpu_type,omitempty"`
	// MaxTime is the maximum time limit of one job. JobProcs, JobNodes, JobGPUs and JobMemory (bytes) are the maximum
	// size of one job.
	MaxTime   time.Duration `json:"max_time,omitempty"`
	JobProcs  int           `json:"job_procs,omitempty"`
	JobNodes  int           `json:"job_nodes,omitempty"`
	JobGPUs   int           `json:"job_gpus,omitempty"`
	JobMemory int64         `json:"job_memory_bytes,omitempty"`
	// JobMin is the minimum request of a job. PerNode is the maximum request on each node of a job.
	JobMin  Amounts `json:"job_min,omitzero"`
	PerNode Amounts `json:"per_node,omitzero"`
	// RunMinutes limits the sum over running jobs of resources times the minutes left to the time limit (Slurm's
	// GrpTRESRunMins). TotalMinutes limits past usage, which decays as for fair share, plus the usage of running jobs
	// (GrpTRESMins). JobMinutes limits the request of one job times its time limit (MaxTRESMins).
	RunMinutes   Amounts `json:"run_minutes,omitzero"`
	TotalMinutes Amounts `json:"total_minutes,omitzero"`
	JobMinutes   Amounts `json:"job_minutes,omitzero"`
	// TotalTime limits the sum of the run times of all jobs (Slurm's GrpWall).
	TotalTime time.Duration `json:"total_time,omitempty"`
	// Priority is the QOS's contribution to a job's priority.
	Priority int `json:"priority,omitempty"`
	// Scope selects the limited jobs if the limit does not belong to a QOS or an association; otherwise it is nil.
	Scope *Scope `json:"scope,omitempty"`
}

// Scope selects the jobs that a limit of PBS or Grid Engine applies to: the jobs that match all filters. A filter is
// a list of names. "*" matches any name, and a name after "!" is excluded. An empty filter matches all jobs, even
// jobs without a name.
type Scope struct {
	// Where is the object in which the limit is set: "server", "queue workq", "resource quota max_slots".
	Where string `json:"where"`
	// Set is the name of a set of limits. Of the limits in a set, only the first that applies to a job counts. Set is
	// empty for a limit that counts by itself.
	Set      string   `json:"set,omitempty"`
	Users    []string `json:"users,omitempty"`
	Accounts []string `json:"accounts,omitempty"`
	Groups   []string `json:"groups,omitempty"`
	Queues   []string `json:"queues,omitempty"`
	// EachUser is true if the limit applies to each user separately. The other fields have the same meaning for
	// accounts and so on. If several are true, the limit applies to each combination.
	EachUser    bool `json:"each_user,omitempty"`
	EachAccount bool `json:"each_account,omitempty"`
	EachGroup   bool `json:"each_group,omitempty"`
	EachQueue   bool `json:"each_queue,omitempty"`
}

// Amounts are limits on resources, or on resources times minutes. Memory is in bytes. As in a Limit, 0 means no
// limit.
type Amounts struct {
	Procs  int64 `json:"procs,omitempty"`
	Nodes  int64 `json:"nodes,omitempty"`
	GPUs   int64 `json:"gpus,omitempty"`
	Memory int64 `json:"memory_bytes,omitempty"`
}

// QOSRules are the rules of a quality of service, without its limits.
type QOSRules struct {
	Name     string `json:"name"`
	Priority int    `json:"priority,omitempty"`
	// UsageFactor multiplies the usage of the QOS's jobs for fair share and for limits on minutes.
	UsageFactor float64 `json:"usage_factor"`
	// Preempts are the QOSs whose jobs may be preempted by jobs of this QOS, sorted. PreemptMode says what happens to
	// jobs of this QOS when they are preempted; "" means the machine's mode. GraceTime is the time that such a job
	// may still run then. PreemptExempt is the time that a job runs before it can be preempted.
	Preempts      []string      `json:"preempts,omitempty"`
	PreemptMode   string        `json:"preempt_mode,omitempty"`
	PreemptExempt time.Duration `json:"preempt_exempt,omitempty"`
	GraceTime     time.Duration `json:"grace_time,omitempty"`
	// Flags are the scheduler's flags (Slurm's DenyOnLimit, OverPartQOS), sorted.
	Flags []string `json:"flags,omitempty"`
}

// Association has the rules of an account, or of a user in an account and perhaps in one queue. It does not have the
// limits.
type Association struct {
	Account string `json:"account"`
	User    string `json:"user,omitempty"`
	Queue   string `json:"queue,omitempty"`
	// Priority is the association's contribution to a job's priority.
	Priority int `json:"priority,omitempty"`
	// DefaultQOS is the QOS of a job that does not request one. QOSs are the QOSs that a job may request, sorted.
	DefaultQOS string   `json:"default_qos,omitempty"`
	QOSs       []string `json:"qoss,omitempty"`
}

// Account is an account and its users.
type Account struct {
	Name string `json:"name"`
	// Parent is the account above this one; "" for the root.
	Parent string `json:"parent,omitempty"`
	// Users are the users who may use the account, sorted.
	Users []string `json:"users,omitempty"`
}

// Preemption has the rules by which running jobs are preempted (Slurm's PreemptType and PreemptMode).
type Preemption struct {
	// By is the criterion that decides which jobs may be preempted: "qos" or "partition_prio".
	By string `json:"by"`
	// Modes say what happens to preempted jobs: CANCEL, REQUEUE, SUSPEND, GANG, WITHIN. They are sorted.
	Modes []string `json:"modes,omitempty"`
	// Exempt is the time that a job runs before it can be preempted.
	Exempt time.Duration `json:"exempt,omitempty"`
}

// Enforced says which rules of accounting a job must obey to be accepted (Slurm's AccountingStorageEnforce).
type Enforced struct {
	// Associations is true if a job's account must exist and contain the user.
	Associations bool `json:"associations,omitempty"`
	// QOS is true if a job's quality of service must exist.
	QOS bool `json:"qos,omitempty"`
	// Limits is true if the limits of QOSs and associations are enforced. Safe is true if a job starts only if it can
	// run to its time limit without exceeding them.
	Limits bool `json:"limits,omitempty"`
	Safe   bool `json:"safe,omitempty"`
}

// Weights are the weights of a job's priority. The priority is the sum of each weight times a factor between 0 and 1
// (Slurm's multifactor plugin).
type Weights struct {
	Age       int `json:"age,omitempty"`
	FairShare int `json:"fair_share,omitempty"`
	JobSize   int `json:"job_size,omitempty"`
	Queue     int `json:"queue,omitempty"`
	QOS       int `json:"qos,omitempty"`
	Assoc     int `json:"assoc,omitempty"`
	// MaxAge is the time in the queue after which the age factor is 1.
	MaxAge time.Duration `json:"max_age,omitempty"`
	// SmallFirst is true if small jobs get the higher size factor.
	SmallFirst bool `json:"small_first,omitempty"`
	// HalfLife is the time after which usage counts half for fair share; 0 if usage does not decay. Period is the
	// interval at which usage and priorities are computed. UsageReset is the interval at which usage is reset
	// ("MONTHLY"); "" if it is never reset.
	HalfLife   time.Duration `json:"half_life,omitempty"`
	Period     time.Duration `json:"period,omitempty"`
	UsageReset string        `json:"usage_reset,omitempty"`
	// Flags are the scheduler's flags (Slurm's PriorityFlags), sorted. TRES are the weights of resources in the
	// scheduler's notation ("CPU=1000,GRES/gpu=3000").
	Flags []string `json:"flags,omitempty"`
	TRES  string   `json:"tres,omitempty"`
	// Dampening divides the effect of usage on the fair-share factor. The Fair Tree algorithm does not use it.
	Dampening int `json:"dampening,omitempty"`
}

// Share has the fair share of one user in one account, or of a whole account, and the usage that counts in it.
type Share struct {
	Account string `json:"account"`
	User    string `json:"user,omitempty"`
	// Factor is the fair-share factor, from 0 to 1; 0 means that far more than the share was used. It is rounded to
	// hundredths, because it changes all the time.
	Factor float64 `json:"factor"`
	// Raw is the number of shares, relative to others in the same account. AsParent is true for a user who is treated
	// like the account itself, and for an account that is treated like the account above it.
	Raw      int  `json:"raw,omitempty"`
	AsParent bool `json:"as_parent,omitempty"`
	// Usage is the decayed usage, in seconds times billed resources.
	Usage float64 `json:"usage,omitempty"`
	// Level is the user's part of the siblings' shares, divided by the user's part of the siblings' usage (Slurm's
	// LevelFS of the Fair Tree); 0 if there was no usage.
	Level float64 `json:"level,omitempty"`
}
