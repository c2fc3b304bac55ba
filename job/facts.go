package job

import (
	"bytes"
	"encoding/json"
	"time"
)

// Facts are what a scheduler reports of the machine and its rules, beside its jobs. They are complete: what is not
// among them any more is gone. Every list is sorted by its names, so that the same facts are equal.
type Facts struct {
	// Nodes are the nodes of the machine, those that are alike in one entry.
	Nodes []NodeGroup `json:"nodes,omitempty"`
	// Outages take nodes away from jobs, now or at a known time: reservations, maintenance.
	Outages []Outage     `json:"outages,omitempty"`
	Queues  []QueueFacts `json:"queues,omitempty"`
	// Limits are the caps of QOSs and associations on what runs at once.
	Limits []Limit `json:"limits,omitempty"`
	// QOSRules are what a QOS has beside its limits. Associations are those of accounts, and of their users those that
	// differ from their account's.
	QOSRules     []QOSRules    `json:"qos_rules,omitempty"`
	Associations []Association `json:"associations,omitempty"`
	// Preemption is how running jobs make room for others; nil if they do not, or if the scheduler does not report it.
	Preemption *Preemption `json:"preemption,omitempty"`
	// Weights define what the priority of a job is made of; nil if the scheduler does not report them.
	Weights *Weights `json:"weights,omitempty"`
	Shares  []Share  `json:"shares,omitempty"`
	// AccountShares are those of accounts as a whole: they have no user and no factor.
	AccountShares []Share `json:"account_shares,omitempty"`
	// SharesAt is when the scheduler was asked for the numbers of the shares, which move all the time.
	SharesAt time.Time `json:"shares_at,omitzero"`
	// Accounts are all accounts, sorted by name, and QOSs the names of all qualities of service; empty where the
	// scheduler does not list them.
	Accounts []Account `json:"accounts,omitempty"`
	QOSs     []string  `json:"qoss,omitempty"`
	// Enforced reports what the scheduler checks of them.
	Enforced Enforced `json:"enforced,omitzero"`
	// Version is the scheduler's own, "22.05.8".
	Version string `json:"version,omitempty"`
}

// Equal reports whether g has the same facts: whether it would be saved in the same way.
func (f *Facts) Equal(g *Facts) bool {
	a, errA := json.Marshal(f)
	b, errB := json.Marshal(g)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// NodeGroup is a number of nodes with the same resources in the same queues.
type NodeGroup struct {
	// Queues are the queues that can use the nodes, sorted.
	Queues []string `json:"queues"`
	// Count is the number of nodes, Down how many of them cannot run jobs now: down, drained, failing, not responding.
	Count int `json:"count"`
	Down  int `json:"down,omitempty"`
	// Node is what one of them has.
	Node NodeResources `json:"node"`
}

// NodeResources are what one node has.
type NodeResources struct {
	Procs int `json:"procs"`
	// Threads is how many of the processors are one core; 0 means unknown.
	Threads int `json:"threads,omitempty"`
	// Memory is in bytes; 0 means unknown.
	Memory  int64  `json:"memory_bytes,omitempty"`
	GPUs    int    `json:"gpus,omitempty"`
	GPUType string `json:"gpu_type,omitempty"`
	// Features are the scheduler's names for what sets these nodes apart, sorted and separated by commas.
	Features string `json:"features,omitempty"`
}

// Outage is a time during which some nodes are not for everybody: a reservation, or maintenance. A job whose time limit
// reaches into it cannot start on them.
type Outage struct {
	Name        string `json:"name"`
	Maintenance bool   `json:"maintenance,omitempty"`
	// From is when it begins, Until when it ends; a zero Until means that nobody knows.
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
	// Queues are those that can use the nodes taken, sorted.
	Queues []string `json:"queues"`
	// Nodes and Procs are how many are taken of the machine.
	Nodes int `json:"nodes,omitempty"`
	Procs int `json:"procs"`
	// Memory is in bytes.
	Memory int64 `json:"memory_bytes,omitempty"`
	GPUs   int   `json:"gpus,omitempty"`
	// Users and Accounts may use what it takes; sorted, empty where nobody may.
	Users    []string `json:"users,omitempty"`
	Accounts []string `json:"accounts,omitempty"`
	// DeniedUsers and DeniedAccounts are the only ones that may not; sorted.
	DeniedUsers    []string `json:"denied_users,omitempty"`
	DeniedAccounts []string `json:"denied_accounts,omitempty"`
	// NodeList names the nodes as the scheduler writes them ("n[01-04]"), Queue is the one that it was made in.
	NodeList string `json:"node_list,omitempty"`
	Queue    string `json:"queue,omitempty"`
	// Flags are the scheduler's own words for how it behaves (Slurm's MAINT, FLEX, DAILY), sorted.
	Flags []string `json:"flags,omitempty"`
}

// QueueFacts are the rules of one queue.
type QueueFacts struct {
	Name string `json:"name"`
	// Tier orders queues: a job of a higher tier goes before every job of a lower one (Slurm's PriorityTier).
	Tier int `json:"tier,omitempty"`
	// Factor is the queue's own part in a job's priority (Slurm's PriorityJobFactor).
	Factor int `json:"factor,omitempty"`
	// Down is true while the queue starts no jobs, Closed while it takes none.
	Down   bool `json:"down,omitempty"`
	Closed bool `json:"closed,omitempty"`
	// MaxTime is the longest time limit, DefaultTime the one of a job that asks for none; 0 means no bound.
	MaxTime     time.Duration `json:"max_time,omitempty"`
	DefaultTime time.Duration `json:"default_time,omitempty"`
	// MaxNodes and MinNodes bound the nodes of one job; 0 means no bound.
	MaxNodes int `json:"max_nodes,omitempty"`
	MinNodes int `json:"min_nodes,omitempty"`
	// Whole is true where every job gets its nodes for itself.
	Whole bool `json:"whole,omitempty"`
	// QOS is the quality of service whose limits hold for the whole queue.
	QOS string `json:"qos,omitempty"`
	// Accounts and QOSs are those that may use the queue, DeniedAccounts and DeniedQOSs those that may not; sorted. An
	// empty list restricts nothing.
	Accounts       []string `json:"accounts,omitempty"`
	DeniedAccounts []string `json:"denied_accounts,omitempty"`
	QOSs           []string `json:"qoss,omitempty"`
	DeniedQOSs     []string `json:"denied_qoss,omitempty"`
	// Oversubscribe is how many jobs may share one processor; 0 means that none do. Forced is true where jobs cannot
	// refuse.
	Oversubscribe int  `json:"oversubscribe,omitempty"`
	Forced        bool `json:"forced,omitempty"`
	// ExclusiveUser is true where a node has the jobs of one user at a time, Reserved where only jobs in a reservation
	// are taken.
	ExclusiveUser bool `json:"exclusive_user,omitempty"`
	Reserved      bool `json:"reserved,omitempty"`
	// MaxNodeProcs bounds a job's processors on each node; 0 means no bound.
	MaxNodeProcs int `json:"max_node_procs,omitempty"`
	// ProcMemory and NodeMemory are the memory of a job that asks for none, in bytes for each processor or node;
	// MaxProcMemory and MaxNodeMemory the most it may ask for. 0 means that the queue has none of its own.
	ProcMemory    int64 `json:"proc_memory_bytes,omitempty"`
	NodeMemory    int64 `json:"node_memory_bytes,omitempty"`
	MaxProcMemory int64 `json:"max_proc_memory_bytes,omitempty"`
	MaxNodeMemory int64 `json:"max_node_memory_bytes,omitempty"`
	// PreemptMode is what happens to the queue's jobs that are preempted (Slurm's CANCEL, REQUEUE, SUSPEND,GANG), "" is
	// what the machine does; GraceTime is what they have left then.
	PreemptMode string        `json:"preempt_mode,omitempty"`
	GraceTime   time.Duration `json:"grace_time,omitempty"`
}

// NoneAllowed is the value of a bound that allows nothing: 0 means that there is no bound.
const NoneAllowed = -1

// Limit is a cap on what may run or wait at once, of a QOS or of an association (account, and perhaps user and queue).
// What is 0 is not bounded, what is NoneAllowed is not allowed at all. The bounds of an account on all its jobs
// together bound those of the accounts below it too: see Account.Parent.
type Limit struct {
	QOS     string `json:"qos,omitempty"`
	Account string `json:"account,omitempty"`
	User    string `json:"user,omitempty"`
	Queue   string `json:"queue,omitempty"`
	// PerUser is true for a bound on each user of the QOS or of the account, PerAccount for one on each account of the
	// QOS; both are false for one on all together.
	PerUser    bool `json:"per_user,omitempty"`
	PerAccount bool `json:"per_account,omitempty"`
	Jobs       int  `json:"jobs,omitempty"`
	// Submitted bounds the jobs that run and wait.
	Submitted int   `json:"submitted,omitempty"`
	Procs     int   `json:"procs,omitempty"`
	Nodes     int   `json:"nodes,omitempty"`
	GPUs      int   `json:"gpus,omitempty"`
	Memory    int64 `json:"memory_bytes,omitempty"`
	// GPUType restricts an entry to GPUs of one type: it bounds nothing else then. Empty means GPUs of any type.
	GPUType string `json:"gpu_type,omitempty"`
	// MaxTime bounds one job's time limit; JobProcs, JobNodes, JobGPUs and JobMemory (bytes) its size.
	MaxTime   time.Duration `json:"max_time,omitempty"`
	JobProcs  int           `json:"job_procs,omitempty"`
	JobNodes  int           `json:"job_nodes,omitempty"`
	JobGPUs   int           `json:"job_gpus,omitempty"`
	JobMemory int64         `json:"job_memory_bytes,omitempty"`
	// JobMin is the least that a job must ask for, PerNode the most on each of its nodes.
	JobMin  Amounts `json:"job_min,omitzero"`
	PerNode Amounts `json:"per_node,omitzero"`
	// RunMinutes bounds the minutes that running jobs have left to their time limits, times what they hold (Slurm's
	// GrpTRESRunMins). TotalMinutes bounds what was used, with the decay of fair share, and what runs (GrpTRESMins).
	// JobMinutes bounds one job: its time limit times what it asks for (MaxTRESMins).
	RunMinutes   Amounts `json:"run_minutes,omitzero"`
	TotalMinutes Amounts `json:"total_minutes,omitzero"`
	JobMinutes   Amounts `json:"job_minutes,omitzero"`
	// TotalTime bounds the run time of all jobs, added up (Slurm's GrpWall).
	TotalTime time.Duration `json:"total_time,omitempty"`
	// Priority is the QOS's part in a job's priority.
	Priority int `json:"priority,omitempty"`
}

// Amounts are bounds on resources, or on resources times minutes; memory is in bytes. As in a Limit, 0 means no bound.
type Amounts struct {
	Procs  int64 `json:"procs,omitempty"`
	Nodes  int64 `json:"nodes,omitempty"`
	GPUs   int64 `json:"gpus,omitempty"`
	Memory int64 `json:"memory_bytes,omitempty"`
}

// QOSRules are what a quality of service has beside its limits.
type QOSRules struct {
	Name     string `json:"name"`
	Priority int    `json:"priority,omitempty"`
	// UsageFactor is by how much its jobs' usage counts for fair share and limits of minutes.
	UsageFactor float64 `json:"usage_factor"`
	// Preempts are the QOSs whose jobs it may preempt, sorted. PreemptMode is what happens to its own jobs, "" is what
	// the machine does; GraceTime is what they have left then, PreemptExempt how long they run before that.
	Preempts      []string      `json:"preempts,omitempty"`
	PreemptMode   string        `json:"preempt_mode,omitempty"`
	PreemptExempt time.Duration `json:"preempt_exempt,omitempty"`
	GraceTime     time.Duration `json:"grace_time,omitempty"`
	// Flags are the scheduler's own words (Slurm's DenyOnLimit, OverPartQOS), sorted.
	Flags []string `json:"flags,omitempty"`
}

// Association is what an account, or a user in an account (and perhaps in one queue), has beside its limits.
type Association struct {
	Account string `json:"account"`
	User    string `json:"user,omitempty"`
	Queue   string `json:"queue,omitempty"`
	// Priority is its part in a job's priority.
	Priority int `json:"priority,omitempty"`
	// DefaultQOS is that of a job that names none, QOSs are those it may name, sorted.
	DefaultQOS string   `json:"default_qos,omitempty"`
	QOSs       []string `json:"qoss,omitempty"`
}

// Account is an account and its users.
type Account struct {
	Name string `json:"name"`
	// Parent is the account above it, "" for the root.
	Parent string `json:"parent,omitempty"`
	// Users may use the account; sorted.
	Users []string `json:"users,omitempty"`
}

// Preemption is how running jobs make room for others (Slurm's PreemptType and PreemptMode).
type Preemption struct {
	// By is "qos" or "partition_prio": what decides whose jobs may be preempted.
	By string `json:"by"`
	// Modes are what happens to them: CANCEL, REQUEUE, SUSPEND, GANG, WITHIN; sorted.
	Modes []string `json:"modes,omitempty"`
	// Exempt is how long a job runs before it can be preempted.
	Exempt time.Duration `json:"exempt,omitempty"`
}

// Enforced reports which rules of accounting a job must obey to be accepted (Slurm's AccountingStorageEnforce).
type Enforced struct {
	// Associations is true where a job's account must exist and have the user.
	Associations bool `json:"associations,omitempty"`
	// QOS is true where a job's quality of service must exist.
	QOS bool `json:"qos,omitempty"`
	// Limits is true where the limits of QOSs and associations hold. Safe is true where a job starts only if it can run
	// to its time limit within them.
	Limits bool `json:"limits,omitempty"`
	Safe   bool `json:"safe,omitempty"`
}

// Weights make the priority of a job: each times a factor between 0 and 1 (Slurm's multifactor plugin).
type Weights struct {
	Age       int `json:"age,omitempty"`
	FairShare int `json:"fair_share,omitempty"`
	JobSize   int `json:"job_size,omitempty"`
	Queue     int `json:"queue,omitempty"`
	QOS       int `json:"qos,omitempty"`
	Assoc     int `json:"assoc,omitempty"`
	// MaxAge is the time in the queue after which the age factor is 1.
	MaxAge time.Duration `json:"max_age,omitempty"`
	// SmallFirst is true where small jobs get the higher size factor.
	SmallFirst bool `json:"small_first,omitempty"`
	// HalfLife is the time after which usage counts half for fair share, 0 where it does not decay; Period is how often
	// usage and priorities are computed; UsageReset says when usage is forgotten ("MONTHLY"), "" means never.
	HalfLife   time.Duration `json:"half_life,omitempty"`
	Period     time.Duration `json:"period,omitempty"`
	UsageReset string        `json:"usage_reset,omitempty"`
	// Flags are the scheduler's own words (Slurm's PriorityFlags), sorted; TRES the weights of resources as it writes
	// them ("CPU=1000,GRES/gpu=3000").
	Flags []string `json:"flags,omitempty"`
	TRES  string   `json:"tres,omitempty"`
	// Dampening divides the effect of usage on the factor of fair share, where it is not that of the Fair Tree.
	Dampening int `json:"dampening,omitempty"`
}

// Share is the fair-share factor of one user in one account, between 0 (used far more than the share) and 1.
type Share struct {
	Account string `json:"account"`
	User    string `json:"user,omitempty"`
	// Factor is rounded to hundredths: it changes all the time.
	Factor float64 `json:"factor"`
	// Raw is the number of shares among those of the same account; AsParent is true for one that is treated as its
	// account is.
	Raw      int  `json:"raw,omitempty"`
	AsParent bool `json:"as_parent,omitempty"`
	// Usage is what was used, with decay, in seconds times billed resources.
	Usage float64 `json:"usage,omitempty"`
	// Level is the share among the siblings divided by their part of the usage (Slurm's LevelFS of the Fair Tree); 0
	// where there was none.
	Level float64 `json:"level,omitempty"`
}
