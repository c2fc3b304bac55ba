package slurm

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// general has values of slurmctld's configuration.
type general struct {
	version     string
	clusterName string
	slurmdbd    bool
	noMemory    bool // memory is not allocated to jobs, so it cannot run out
	weights     *job.Weights
	enforced    job.Enforced
	preemption  *job.Preemption
	preemptMode string // PreemptMode of the configuration, the default of all partitions
	private     string // see job.Facts.Private
}

// slurmdbd is the AccountingStorageType of a cluster that has associations, QOSs and shares.
const slurmdbd = "accounting_storage/slurmdbd"

// enforcement reads AccountingStorageEnforce, such as "associations,limits,qos" (slurm.conf(5)). limits, qos and wckeys
// imply associations, safe implies limits, and all is all of them.
func enforcement(text []byte) job.Enforced {
	var e job.Enforced
	for word := range bytes.SplitSeq(bytes.ToLower(text), []byte(",")) {
		switch string(bytes.TrimSpace(word)) {
		case "associations", "wckeys":
			e.Associations = true
		case "limits":
			e.Associations, e.Limits = true, true
		case "safe":
			e.Associations, e.Limits, e.Safe = true, true, true
		case "qos":
			e.Associations, e.QOS = true, true
		case "all":
			e = job.Enforced{Associations: true, QOS: true, Limits: true, Safe: true}
		}
	}
	return e
}

// readConfig reads the configuration: one record, with the keys of "scontrol show config".
func (f *Facts) readConfig(each eachRecord) func() {
	g, slurmUser := f.general, f.rights.slurmUser
	each(func(get record) error {
		name, _, _ := bytes.Cut(get("SlurmUser"), []byte("(")) // slurm(64030)
		slurmUser = string(name)
		g = general{
			version: string(get("SLURM_VERSION")), clusterName: string(get("ClusterName")),
			slurmdbd:   string(get("AccountingStorageType")) == slurmdbd,
			enforced:   enforcement(get("AccountingStorageEnforce")),
			preemption: preemption(get), preemptMode: preemptMode(get("PreemptMode")),
			private: strings.Join(flags(bytes.ToLower(get("PrivateData"))), ","),
		}
		if how := get("SelectTypeParameters"); len(how) > 0 { // CR_CORE_MEMORY and the like, slurm.conf(5)
			g.noMemory = !bytes.Contains(bytes.ToUpper(how), []byte("MEMORY"))
		}
		if string(get("PriorityType")) == "priority/multifactor" {
			g.weights = weights(get)
		}
		return nil
	})
	return func() { f.general, f.rights.slurmUser = g, slurmUser }
}

// weights reads the configuration of the multifactor plugin.
func weights(get record) *job.Weights {
	weight := func(what string) int { return number(get("PriorityWeight" + what)) }
	w := &job.Weights{
		Age: weight("Age"), FairShare: weight("FairShare"), JobSize: weight("JobSize"), Queue: weight("Partition"),
		QOS: weight("QOS"), Assoc: weight("Assoc"), MaxAge: duration(get("PriorityMaxAge")),
		SmallFirst: strings.EqualFold(string(get("PriorityFavorSmall")), "yes"),
		HalfLife:   duration(get("PriorityDecayHalfLife")), Period: duration(get("PriorityCalcPeriod")),
		Flags: flags(get("PriorityFlags")),
	}
	if reset := string(get("PriorityUsageResetPeriod")); reset != "NONE" {
		w.UsageReset = reset
	}
	if tres := string(get("PriorityWeightTRES")); tres != "(null)" {
		w.TRES = tres
	}
	if n := number(get("FairShareDampeningFactor")); n != 1 {
		w.Dampening = n
	}
	return w
}

// preemption reads PreemptType, PreemptMode and PreemptExemptTime. It returns nil if no jobs are preempted.
func preemption(get record) *job.Preemption {
	by, ok := strings.CutPrefix(string(get("PreemptType")), "preempt/")
	if !ok || by == "none" {
		return nil
	}
	return &job.Preemption{By: by, Modes: flags(get("PreemptMode")), Exempt: duration(get("PreemptExemptTime"))}
}

// duration parses a time such as "1-00:00:00". It returns 0 for a text that is no time.
func duration(text []byte) time.Duration {
	d, err := squeueLimit("", text)
	if err != nil {
		return 0
	}
	return d
}

// accounts reports whether the cluster has a slurmdbd.
func (f *Facts) accounts() bool { return f.general.slurmdbd }

// shared reports whether the cluster has a slurmdbd and fair share has a weight in priorities.
func (f *Facts) shared() bool {
	return f.general.slurmdbd && f.general.weights != nil && f.general.weights.FairShare > 0
}

// readPartitions reads partitions.
func (f *Facts) readPartitions(each eachRecord) func() {
	var queues []job.QueueFacts
	each(func(get record) error {
		name := get("PartitionName")
		if name == nil {
			return collector.Bad(collector.ReasonFormat, "", "want a PartitionName")
		}
		exclusive := string(get("Exclusive")) // since 26.05
		q := job.QueueFacts{
			Name: string(name), Tier: number(get("PriorityTier")), Factor: number(get("PriorityJobFactor")),
			MaxNodes: number(get("MaxNodes")), MinNodes: number(get("MinNodes")),
			Whole: string(get("OverSubscribe")) == "EXCLUSIVE" || exclusive == "NODE", QOS: f.name(get("QoS")),
			Accounts: f.names(get("AllowAccounts")), DeniedAccounts: f.names(get("DenyAccounts")),
			QOSs: f.names(get("AllowQos")), DeniedQOSs: f.names(get("DenyQos")),
			ExclusiveUser: string(get("ExclusiveUser")) == "YES" || exclusive == "USER",
			Reserved:      string(get("ReqResv")) == "YES",
			MaxNodeProcs:  number(get("MaxCPUsPerNode")), PreemptMode: preemptMode(get("PreemptMode")),
			GraceTime:  time.Duration(number(get("GraceTime"))) * time.Second,
			ProcMemory: memoryOf(get("DefMemPerCPU")), NodeMemory: memoryOf(get("DefMemPerNode")),
			MaxProcMemory: memoryOf(get("MaxMemPerCPU")), MaxNodeMemory: memoryOf(get("MaxMemPerNode")),
		}
		if q.PreemptMode == f.general.preemptMode { // for a partition without a mode, scontrol shows the default
			q.PreemptMode = ""
		}
		if how, jobs, ok := bytes.Cut(get("OverSubscribe"), []byte(":")); ok && number(jobs) > 1 { // YES:4, FORCE:4
			q.Oversubscribe, q.Forced = number(jobs), string(how) == "FORCE"
		}
		if q.MinNodes == 1 { // every job has at least one node, so 1 is no bound
			q.MinNodes = 0
		}
		var err error
		if q.MaxTime, err = squeueLimit("MaxTime", get("MaxTime")); err != nil {
			return err
		}
		if q.DefaultTime, err = squeueLimit("DefaultTime", get("DefaultTime")); err != nil {
			return err
		}
		switch state := get("State"); string(state) { // scontrol(1), partition states
		case "UP":
		case "DOWN":
			q.Down = true
		case "DRAIN":
			q.Closed = true
		case "INACTIVE":
			q.Down, q.Closed = true, true
		default:
			return collector.Bad(collector.ReasonUnknown, "State", "%q is not a known state of a partition",
				shorten(state))
		}
		queues = append(queues, q)
		return nil
	})
	slices.SortFunc(queues, func(a, b job.QueueFacts) int { return cmp.Compare(a.Name, b.Name) })
	return func() { f.queues = queues }
}

// memoryOf converts memory in mebibytes to bytes. Words for none (UNLIMITED) give 0.
func memoryOf(text []byte) int64 {
	n, _ := megabytes(text)
	return n
}

// name reads a name. Words for none give "".
func (f *Facts) name(text []byte) string { return f.parser.known(text) }

// names parses a list such as "a,b" and sorts it; an empty list, ALL, NONE, N/A and (null) mean no restriction.
func (f *Facts) names(text []byte) []string {
	switch string(bytes.ToUpper(text)) {
	case "", "ALL", "N/A", "NONE", "(NULL)":
		return nil
	}
	var out []string
	for name := range bytes.SplitSeq(text, []byte(",")) {
		out = append(out, f.name(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shares are the shares of users and accounts, with the time of the query.
type shares struct {
	users, accounts []job.Share
	at              time.Time
}

// shareFields are the requested columns, by their names in sshare(1). There is a line for each account, and for each
// user in each account.
var shareFields = [...]string{"Account", "User", "RawShares", "RawUsage", "FairShare", "LevelFS"}

// readShares reads the records of sshare. It rounds fair-share factors to hundredths, and stores an infinite level (of
// a user without usage) as 0. The factors of accounts are not kept.
func (f *Facts) readShares(each eachRecord) func() {
	now := shares{at: f.asked}
	each(func(get record) error {
		s := job.Share{Account: f.name(get("Account")), User: f.name(get("User"))}
		if raw := string(get("RawShares")); raw == "parent" {
			s.AsParent = true
		} else {
			s.Raw = number(get("RawShares"))
		}
		for _, c := range [...]struct {
			key  string
			into *float64
			most float64
		}{{"RawUsage", &s.Usage, math.MaxFloat64}, {"LevelFS", &s.Level, math.Inf(1)}, {"FairShare", &s.Factor, 1}} {
			text := get(c.key)
			if len(text) == 0 {
				continue
			}
			x, err := strconv.ParseFloat(string(text), 64)
			if err != nil || !(x >= 0 && x <= c.most) {
				return badNumber(c.key, text)
			}
			*c.into = x
		}
		if s.Factor = math.Round(s.Factor*100) / 100; math.IsInf(s.Level, 1) { // infinite for a user without usage
			s.Level = 0
		}
		if s.User == "" {
			s.Factor = 0
			now.accounts = append(now.accounts, s)
		} else {
			now.users = append(now.users, s)
		}
		return nil
	})
	for _, list := range [...][]job.Share{now.users, now.accounts} {
		slices.SortStableFunc(list, func(a, b job.Share) int {
			return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User))
		})
	}
	return func() { f.shares = now }
}

// shareStep is the minimum change of a fair share that causes a new event. It is not smaller, because shares change all
// the time and each event has the shares of all users.
const shareStep = 5 // hundredths

// alike reports whether shares differ by less than shareStep from those reported last. It compares their factors, and
// their parts of all usage. Owners and raw shares must be equal.
func alike(told, now []job.Share) bool {
	total := func(list []job.Share) float64 {
		sum := 0.
		for _, s := range list {
			sum += s.Usage
		}
		return max(sum, 1)
	}
	before, after := total(told), total(now)
	return slices.EqualFunc(told, now, func(a, b job.Share) bool {
		return a.Account == b.Account && a.User == b.User && a.Raw == b.Raw && a.AsParent == b.AsParent &&
			math.Round(100*math.Abs(a.Factor-b.Factor)) < shareStep &&
			math.Round(100*math.Abs(a.Usage/before-b.Usage/after)) < shareStep
	})
}
