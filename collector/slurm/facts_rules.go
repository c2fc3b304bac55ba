package slurm

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// general has the values of slurmctld's configuration.
type general struct {
	version     string
	clusterName string
	slurmdbd    bool
	noMemory    bool // jobs are not given memory of their own: it never runs out
	weights     *job.Weights
	enforced    job.Enforced
}

// enforcement reads AccountingStorageEnforce, "associations,limits,qos": limits and qos imply associations, safe
// implies limits, all is all of them (slurm.conf(5)).
func enforcement(text []byte) job.Enforced {
	var e job.Enforced
	for word := range bytes.SplitSeq(bytes.ToLower(text), []byte(",")) {
		switch string(bytes.TrimSpace(word)) {
		case "associations", "wckeys":
			e.Associations = true
		case "limits", "safe":
			e.Associations, e.Limits = true, true
		case "qos":
			e.Associations, e.QOS = true, true
		case "all":
			e = job.Enforced{Associations: true, QOS: true, Limits: true}
		}
	}
	return e
}

// readConfig reads "scontrol show config": lines "key = value" among others.
func (f *Facts) readConfig(each eachLine) func() {
	values := map[string][]byte{}
	each(func(line []byte) error {
		if key, value, ok := bytes.Cut(line, []byte("=")); ok {
			values[string(bytes.TrimSpace(key))] = bytes.Clone(bytes.TrimSpace(value))
		}
		return nil
	})
	g := general{
		version: string(values["SLURM_VERSION"]), clusterName: string(values["ClusterName"]),
		slurmdbd: string(values["AccountingStorageType"]) == "accounting_storage/slurmdbd",
		enforced: enforcement(values["AccountingStorageEnforce"]),
	}
	if how := values["SelectTypeParameters"]; len(how) > 0 { // CR_CORE_MEMORY and the like, slurm.conf(5)
		g.noMemory = !bytes.Contains(bytes.ToUpper(how), []byte("MEMORY"))
	}
	if string(values["PriorityType"]) == "priority/multifactor" {
		weight := func(what string) int { return number(values["PriorityWeight"+what]) }
		g.weights = &job.Weights{
			Age: weight("Age"), FairShare: weight("FairShare"), JobSize: weight("JobSize"), Queue: weight("Partition"),
			QOS: weight("QOS"), Assoc: weight("Assoc"), MaxAge: duration(values["PriorityMaxAge"]),
			SmallFirst: string(values["PriorityFavorSmall"]) == "Yes",
		}
	}
	return func() {
		if len(values) > 0 {
			f.general = g
		}
	}
}

// duration reads "1-00:00:00"; 0 where there is none.
func duration(text []byte) time.Duration {
	d, err := squeueLimit("", text)
	if err != nil {
		return 0
	}
	return d
}

// accounts reports whether there is a slurmdbd to ask.
func (f *Facts) accounts() bool { return f.general.slurmdbd }

// shared reports whether fair shares count.
func (f *Facts) shared() bool {
	return f.general.slurmdbd && f.general.weights != nil && f.general.weights.FairShare > 0
}

// readPartitions reads "scontrol show partition".
func (f *Facts) readPartitions(each eachLine) func() {
	var queues []job.QueueFacts
	each(func(line []byte) error {
		name := wordOf(line, "PartitionName")
		if name == nil {
			return collector.Bad(collector.ReasonFormat, "", "want PartitionName=..., got %q", shorten(line))
		}
		q := job.QueueFacts{
			Name: string(name), Tier: number(wordOf(line, "PriorityTier")),
			Factor:   number(wordOf(line, "PriorityJobFactor")),
			MaxNodes: number(wordOf(line, "MaxNodes")), MinNodes: number(wordOf(line, "MinNodes")),
			Whole:    string(wordOf(line, "OverSubscribe")) == "EXCLUSIVE",
			QOS:      f.parser.known(wordOf(line, "QoS")),
			Accounts: f.names(wordOf(line, "AllowAccounts")), DeniedAccounts: f.names(wordOf(line, "DenyAccounts")),
			QOSs: f.names(wordOf(line, "AllowQos")), DeniedQOSs: f.names(wordOf(line, "DenyQos")),
		}
		if q.MinNodes == 1 { // every job has one
			q.MinNodes = 0
		}
		var err error
		if q.MaxTime, err = squeueLimit("MaxTime", wordOf(line, "MaxTime")); err != nil {
			return err
		}
		if q.DefaultTime, err = squeueLimit("DefaultTime", wordOf(line, "DefaultTime")); err != nil {
			return err
		}
		switch state := wordOf(line, "State"); string(state) { // scontrol(1), partition states
		case "UP":
		case "DOWN":
			q.Down = true
		case "DRAIN":
			q.Closed = true
		case "INACTIVE":
			q.Down, q.Closed = true, true
		default:
			return collector.Bad(collector.ReasonUnknown, "State", "%q is no state of a partition that is known",
				shorten(state))
		}
		queues = append(queues, q)
		return nil
	})
	slices.SortFunc(queues, func(a, b job.QueueFacts) int { return cmp.Compare(a.Name, b.Name) })
	return func() { f.queues = queues }
}

// names reads a list such as "a,b"; ALL, N/A and (null) are no restriction.
func (f *Facts) names(text []byte) []string {
	switch string(bytes.ToUpper(text)) {
	case "", "ALL", "N/A", "NONE", "(NULL)":
		return nil
	}
	var out []string
	for name := range bytes.SplitSeq(text, []byte(",")) {
		out = append(out, f.parser.known(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readShares reads "sshare", one line for each user in each account and one for each account.
func (f *Facts) readShares(each eachLine) func() {
	var shares []job.Share
	each(func(line []byte) error {
		fields := bytes.Split(line, []byte("|"))
		if len(fields) != 3 {
			return collector.Bad(collector.ReasonFormat, "", "want Account|User|FairShare, got %q", shorten(line))
		}
		if len(bytes.TrimSpace(fields[1])) == 0 {
			return nil
		}
		factor, err := strconv.ParseFloat(string(bytes.TrimSpace(fields[2])), 64)
		if err != nil || !(factor >= 0 && factor <= 1) {
			return badNumber("FairShare", fields[2])
		}
		shares = append(shares, job.Share{
			Account: f.parser.known(bytes.TrimSpace(fields[0])), User: f.parser.known(bytes.TrimSpace(fields[1])),
			Factor: math.Round(factor*100) / 100,
		})
		return nil
	})
	slices.SortStableFunc(shares, func(a, b job.Share) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User))
	})
	return func() { f.shares = shares }
}

// shareStep is the change from which a fair share is reported again: shares move all the time, and one event carries
// those of all users.
const shareStep = 5 // hundredths

// alike reports whether shares are so close to those reported last that they need not be reported again.
func alike(told, now []job.Share) bool {
	return slices.EqualFunc(told, now, func(a, b job.Share) bool {
		return a.Account == b.Account && a.User == b.User && math.Round(100*math.Abs(a.Factor-b.Factor)) < shareStep
	})
}
