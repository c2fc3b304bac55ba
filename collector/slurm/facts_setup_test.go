package slurm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/job"
)

// capturedFrom returns the outputs in testdata/facts of a real Slurm with the given version.
func capturedFrom(tb testing.TB, version string) map[string]string {
	tb.Helper()
	texts := map[string]string{}
	for _, name := range []string{"config", "sinfo", "reservation", "partition", "qos", "assoc", "sshare"} {
		text, err := os.ReadFile(filepath.Join("testdata", "facts", version, name+".txt"))
		if err != nil {
			tb.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

// captured returns the outputs of Slurm 22.05 as they would be without slurmdbd.
func captured(tb testing.TB) map[string]string {
	tb.Helper()
	texts := capturedFrom(tb, "22.05")
	texts["config"] = strings.NewReplacer("accounting_storage/slurmdbd", "accounting_storage/none",
		"PriorityWeightFairShare = 300", "PriorityWeightFairShare = 0").Replace(texts["config"])
	return texts
}

// capturedAt is the instant at which testdata/facts/22.05 was captured: 2026-11-23 15:18:47 UTC, in the middle of the
// reservation now1.
var capturedAt = time.Unix(1795447127, 0).UTC()

const (
	gib = 1 << 30
	mib = 1 << 20
)

// setUp returns the settings that were made by hand on the clusters of testdata/facts: six nodes, of which n03 was
// drained and two have GPUs, five partitions, and limits, accounts and QOSs made with sacctmgr. It leaves out
// reservations, whose times differ.
func setUp() *job.Facts {
	plain := job.NodeResources{Procs: 8, Threads: 2, Memory: 4000 * mib, Features: "ib,skylake"}
	all := []string{"blocked", "high", "low", "normal"}
	return &job.Facts{
		Nodes: []job.NodeGroup{
			{Queues: []string{"down", "reserved", "short"}, Count: 1, Names: []string{"n04"}, Node: plain},
			{Queues: []string{"gpu", "short"}, Count: 2, Names: []string{"n05", "n06"},
				Node: job.NodeResources{Procs: 8, Threads: 1, Memory: 8000 * mib, GPUs: 3}},
			{Queues: []string{"reserved", "short"}, Count: 1, Down: 1, Node: plain},
			{Queues: []string{"short", "whole"}, Count: 2, Names: []string{"n01", "n02"}, Node: plain},
		},
		Queues: []job.QueueFacts{
			{Name: "down", Tier: 1, Factor: 1, Down: true},
			{Name: "gpu", Tier: 1, Factor: 10, MaxTime: time.Hour, MaxNodes: 1, QOS: "low", MaxNodeProcs: 4,
				NodeMemory: 500 * mib, MaxNodeMemory: 7000 * mib, DeniedAccounts: []string{"physics"},
				DeniedQOSs: []string{"low"}},
			{Name: "reserved", Tier: 1, Factor: 1, Closed: true, Reserved: true, Oversubscribe: 2, Forced: true,
				MaxProcMemory: 300 * mib},
			{Name: "short", Tier: 2, Factor: 1, MaxTime: 10 * time.Minute, DefaultTime: 2 * time.Minute,
				ProcMemory: 100 * mib, Oversubscribe: 4, GraceTime: 30 * time.Second},
			{Name: "whole", Tier: 1, Factor: 1, Whole: true, ExclusiveUser: true, MinNodes: 2,
				Accounts: []string{"biology", "physics"}, QOSs: []string{"high", "normal"}},
		},
		Weights: &job.Weights{Age: 1000, Queue: 100, FairShare: 300, QOS: 50, MaxAge: 48 * time.Hour,
			HalfLife: 24 * time.Hour, Period: time.Minute, UsageReset: "MONTHLY", Flags: []string{"ACCRUE_ALWAYS"},
			TRES: "CPU=10,GRES/gpu=30"},
		Preemption: &job.Preemption{By: "qos", Modes: []string{"REQUEUE"}, Exempt: time.Minute},
		Enforced:   job.Enforced{Associations: true, Limits: true, QOS: true},
		Limits: []job.Limit{
			{QOS: "blocked", Submitted: job.NoneAllowed},
			{QOS: "blocked", PerUser: true, Jobs: job.NoneAllowed, GPUs: job.NoneAllowed},
			{QOS: "high", Priority: 100, Jobs: 50, Submitted: 200, Procs: 8, Memory: 10 * gib, GPUs: 3, JobNodes: 2,
				MaxTime: 24 * time.Hour, RunMinutes: job.Amounts{Procs: 1000, GPUs: 600},
				TotalMinutes: job.Amounts{Procs: 100000, Memory: 5000 * mib}, TotalTime: 10 * time.Minute,
				JobMinutes: job.Amounts{Procs: 480}, PerNode: job.Amounts{Procs: 4}, JobMin: job.Amounts{Procs: 2}},
			{QOS: "high", GPUType: "a100", JobGPUs: 1},
			{QOS: "high", PerUser: true, Jobs: 3, Submitted: 10, Procs: 4},
			{QOS: "high", PerUser: true, GPUType: "a100", GPUs: 2},
			{QOS: "high", PerUser: true, GPUType: "v100", GPUs: job.NoneAllowed},
			{QOS: "high", PerAccount: true, Jobs: 20, Submitted: 30, Procs: 6, Nodes: 3},
			{QOS: "low", PerUser: true, Memory: 3000 * mib},
			{Account: "biology", User: "cy", JobMinutes: job.Amounts{Procs: 300}},
			{Account: "biology", User: "cy", GPUType: "a100", GPUs: 1},
			{Account: "biology", User: "dan", Jobs: 4, TotalMinutes: job.Amounts{Procs: 60000},
				TotalTime: 5000 * time.Minute},
			{Account: "physics", Procs: 30, GPUs: 2, RunMinutes: job.Amounts{Procs: 500}},
			{Account: "physics", PerUser: true, Jobs: 7, JobProcs: 16, MaxTime: time.Hour},
			{Account: "physics", User: "ann", Jobs: 2, JobProcs: 16, MaxTime: time.Hour},
			{Account: "physics", User: "bob", Jobs: 7, Submitted: job.NoneAllowed, JobProcs: 16, MaxTime: time.Hour},
			{Account: "science", Procs: 40},
		},
		QOSs: all,
		QOSRules: []job.QOSRules{
			{Name: "blocked", UsageFactor: 1},
			{Name: "high", Priority: 100, UsageFactor: 1.5, Preempts: []string{"low"}, PreemptMode: "REQUEUE",
				PreemptExempt: 2 * time.Minute, GraceTime: 20 * time.Second,
				Flags: []string{"DenyOnLimit", "OverPartQOS"}},
			{Name: "low", UsageFactor: .25, PreemptMode: "CANCEL", Flags: []string{"NoReserve", "PartitionTimeLimit"}},
			{Name: "normal", UsageFactor: 1},
		},
		Accounts: []job.Account{
			{Name: "biology", Parent: "science", Users: []string{"ann", "cy", "dan"}},
			{Name: "empty", Parent: "root"},
			{Name: "physics", Parent: "science", Users: []string{"ann", "bob"}},
			{Name: "root", Users: []string{"root"}},
			{Name: "science", Parent: "root", Users: []string{"root"}},
		},
		Associations: []job.Association{
			{Account: "biology", QOSs: []string{"normal"}},
			{Account: "biology", User: "cy", QOSs: []string{"low", "normal"}},
			{Account: "empty", QOSs: []string{"normal"}},
			{Account: "physics", DefaultQOS: "normal", QOSs: all},
			{Account: "physics", User: "ann", Priority: 7, DefaultQOS: "high", QOSs: all},
			{Account: "root", QOSs: []string{"normal"}},
			{Account: "science", QOSs: []string{"normal"}},
		},
		Shares: []job.Share{
			{Account: "biology", User: "ann", Factor: 1, Raw: 1}, {Account: "biology", User: "cy", Factor: 1, Raw: 1},
			{Account: "biology", User: "dan", Factor: 1, Raw: 1}, {Account: "physics", User: "ann", Factor: 1, Raw: 5},
			{Account: "physics", User: "bob", Factor: 1, AsParent: true},
			{Account: "root", User: "root", Factor: 1, Raw: 1}, {Account: "science", User: "root", Factor: 1, Raw: 1},
		},
		AccountShares: []job.Share{
			{Account: "biology", Raw: 1}, {Account: "empty", Raw: 1}, {Account: "physics", Raw: 3}, {Account: "root"},
			{Account: "science", Raw: 10},
		},
	}
}
