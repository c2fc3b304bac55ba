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
	// Weights define what the priority of a job is made of; nil if the scheduler does not report them.
	Weights *Weights `json:"weights,omitempty"`
	Shares  []Share  `json:"shares,omitempty"`
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
}

// Limit is a cap on what may run or wait at once, of a QOS or of an association (account, and perhaps user and queue).
// What is 0 is not bounded.
type Limit struct {
	QOS     string `json:"qos,omitempty"`
	Account string `json:"account,omitempty"`
	User    string `json:"user,omitempty"`
	Queue   string `json:"queue,omitempty"`
	// PerUser is true for a bound on each user of the QOS, false for one on all together.
	PerUser bool `json:"per_user,omitempty"`
	Jobs    int  `json:"jobs,omitempty"`
	// Submitted bounds the jobs that run and wait.
	Submitted int   `json:"submitted,omitempty"`
	Procs     int   `json:"procs,omitempty"`
	Nodes     int   `json:"nodes,omitempty"`
	GPUs      int   `json:"gpus,omitempty"`
	Memory    int64 `json:"memory_bytes,omitempty"`
	// MaxTime bounds one job's time limit; JobProcs and JobNodes its size.
	MaxTime  time.Duration `json:"max_time,omitempty"`
	JobProcs int           `json:"job_procs,omitempty"`
	JobNodes int           `json:"job_nodes,omitempty"`
	// Priority is the QOS's part in a job's priority.
	Priority int `json:"priority,omitempty"`
}

// Account is an account and its users.
type Account struct {
	Name string `json:"name"`
	// Users may use the account; sorted.
	Users []string `json:"users,omitempty"`
}

// Enforced reports which rules of accounting a job must obey to be accepted (Slurm's AccountingStorageEnforce).
type Enforced struct {
	// Associations is true where a job's account must exist and have the user.
	Associations bool `json:"associations,omitempty"`
	// QOS is true where a job's quality of service must exist.
	QOS bool `json:"qos,omitempty"`
	// Limits is true where the limits of QOSs and associations hold.
	Limits bool `json:"limits,omitempty"`
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
}

// Share is the fair-share factor of one user in one account, between 0 (used far more than the share) and 1.
type Share struct {
	Account string `json:"account"`
	User    string `json:"user"`
	// Factor is rounded to hundredths: it changes all the time.
	Factor float64 `json:"factor"`
}
