package slurm

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// qosFields are the columns requested for each QOS, by their names in sacctmgr(1).
var qosFields = [...]string{"Name", "Priority", "GrpJobs", "GrpSubmit", "GrpTRES", "MaxTRES", "MaxWall", "MaxJobsPU",
	"MaxSubmitPU", "MaxTRESPU", "MaxJobsPA", "MaxSubmitPA", "MaxTRESPA", "GrpTRESRunMins", "GrpTRESMins", "GrpWall",
	"MaxTRESMins", "MaxTRESPerNode", "MinTRES", "Preempt", "PreemptMode", "PreemptExemptTime", "GraceTime", "Flags",
	"UsageFactor"}

// assocFields are the columns requested for each association. sacctmgr prints inherited limits as the association's
// own.
var assocFields = [...]string{"Cluster", "Account", "User", "Partition", "GrpJobs", "GrpSubmit", "GrpTRES", "MaxTRES",
	"MaxWall", "MaxJobs", "MaxSubmit", "GrpTRESRunMins", "GrpTRESMins", "GrpWall", "MaxTRESMins", "MaxTRESPerNode",
	"ParentName", "Priority", "DefaultQOS", "QOS"}

// bounds are bounds on trackable resources.
type bounds struct {
	job.Amounts                  // GPUs of any type
	typed       map[string]int64 // GPUs by type
}

// boundsOf reads "cpu=16,mem=10G,gres/gpu=2,gres/gpu:a100=1". Unknown resources are skipped.
func boundsOf(field string, text []byte) (b bounds, err error) {
	if len(text) == 0 {
		return b, nil
	}
	for item := range bytes.SplitSeq(text, []byte(",")) {
		key, value, _ := bytes.Cut(item, []byte("="))
		kind, gpuType, _ := bytes.Cut(key, []byte(":"))
		var into *int64
		unit := 1.
		switch string(kind) {
		case "cpu":
			into = &b.Procs
		case "node":
			into = &b.Nodes
		case "mem":
			into, unit = &b.Memory, 1<<20
		case "gres/gpu":
			into = &b.GPUs
		default:
			continue
		}
		n, ok := scaled(value, unit)
		if !ok {
			return bounds{}, collector.Bad(collector.ReasonField, field,
				"want numbers of resources like cpu=16,mem=4G, got %q", shorten(item))
		}
		if len(gpuType) == 0 {
			*into = bound(int64(min(n, maxMemory)))
			continue
		}
		if b.typed == nil {
			b.typed = map[string]int64{}
		}
		b.typed[string(gpuType)] = bound(int64(min(n, maxMemory)))
	}
	return b, nil
}

// bound converts a bound of Slurm; 0 becomes job.NoneAllowed.
func bound(n int64) int64 {
	if n == 0 {
		return job.NoneAllowed
	}
	return n
}

// countBound parses a bound on a number of jobs. It returns 0, which means no bound, for an empty text and for one that
// is no number.
func countBound(text []byte) int {
	n, ok := count(text)
	if !ok {
		return 0
	}
	return int(bound(n))
}

// limitSet has the limits of one owner, by type of GPU. The key "" has all other limits, including those of GPUs of
// any type.
type limitSet map[string]*job.Limit

// newLimitSet returns an empty set for an owner.
func newLimitSet(owner job.Limit) limitSet { return limitSet{"": &owner} }

// add parses a list of bounds. It calls the function set for the limit of the key "" with the amounts that are not for
// one type of GPU, and for the limit of each type of GPU with the number of these GPUs. It adds missing limits of
// types.
func (s limitSet) add(field string, text []byte, set func(l *job.Limit, a job.Amounts)) error {
	b, err := boundsOf(field, text)
	set(s[""], b.Amounts)
	for gpuType, n := range b.typed {
		l := s[gpuType]
		if l == nil {
			owner := ownerOf(s[""])
			l, owner.GPUType = &owner, gpuType
			s[gpuType] = l
		}
		set(l, job.Amounts{GPUs: n})
	}
	return err
}

// list returns the limits that have bounds. The limits that are not for one type of GPU come first.
func (s limitSet) list() (out []job.Limit) {
	for _, gpuType := range slices.Sorted(maps.Keys(s)) {
		l := *s[gpuType]
		owner := ownerOf(&l)
		if owner.GPUType = l.GPUType; l != owner {
			out = append(out, l)
		}
	}
	return out
}

// ownerOf returns a limit without bounds of the same owner.
func ownerOf(l *job.Limit) job.Limit {
	return job.Limit{QOS: l.QOS, Account: l.Account, User: l.User, Queue: l.Queue, PerUser: l.PerUser,
		PerAccount: l.PerAccount}
}

func clampInt(n int64) int { return int(min(n, maxProcs)) }

// setHeld sets the bounds on the resources of running jobs.
func setHeld(l *job.Limit, a job.Amounts) {
	l.Procs, l.Nodes, l.GPUs, l.Memory = clampInt(a.Procs), clampInt(a.Nodes), clampInt(a.GPUs), a.Memory
}

// setJob sets the bounds on the request of one job.
func setJob(l *job.Limit, a job.Amounts) {
	l.JobProcs, l.JobNodes, l.JobGPUs, l.JobMemory = clampInt(a.Procs), clampInt(a.Nodes), clampInt(a.GPUs), a.Memory
}

func setJobMin(l *job.Limit, a job.Amounts)       { l.JobMin = a }
func setPerNode(l *job.Limit, a job.Amounts)      { l.PerNode = a }
func setRunMinutes(l *job.Limit, a job.Amounts)   { l.RunMinutes = a }
func setTotalMinutes(l *job.Limit, a job.Amounts) { l.TotalMinutes = a }
func setJobMinutes(l *job.Limit, a job.Amounts)   { l.JobMinutes = a }

// together reads the bounds on all jobs of the owner together.
func (s limitSet) together(get record) error {
	l := s[""]
	l.Jobs, l.Submitted = countBound(get("GrpJobs")), countBound(get("GrpSubmit"))
	var err error
	l.TotalTime, err = squeueLimit("GrpWall", get("GrpWall"))
	return cmp.Or(err, s.add("GrpTRES", get("GrpTRES"), setHeld),
		s.add("GrpTRESRunMins", get("GrpTRESRunMins"), setRunMinutes),
		s.add("GrpTRESMins", get("GrpTRESMins"), setTotalMinutes))
}

// single reads the bounds on each single job of the owner.
func (s limitSet) single(get record) error {
	var err error
	s[""].MaxTime, err = squeueLimit("MaxWall", get("MaxWall"))
	return cmp.Or(err, s.add("MaxTRES", get("MaxTRES"), setJob),
		s.add("MaxTRESMins", get("MaxTRESMins"), setJobMinutes),
		s.add("MaxTRESPerNode", get("MaxTRESPerNode"), setPerNode))
}

// qosFacts are the facts about QOSs.
type qosFacts struct {
	limits []job.Limit
	rules  []job.QOSRules
	names  []string
}

// readQOS reads QOSs: for each its limits on all its jobs together, per user and per account, and its rules.
func (f *Facts) readQOS(each eachRecord) func() {
	var found qosFacts
	complete := each(func(get record) error {
		name := f.name(get("Name"))
		all := newLimitSet(job.Limit{QOS: name})
		all[""].Priority = number(get("Priority"))
		user := newLimitSet(job.Limit{QOS: name, PerUser: true})
		user[""].Jobs, user[""].Submitted = countBound(get("MaxJobsPU")), countBound(get("MaxSubmitPU"))
		account := newLimitSet(job.Limit{QOS: name, PerAccount: true})
		account[""].Jobs, account[""].Submitted = countBound(get("MaxJobsPA")), countBound(get("MaxSubmitPA"))
		rules, err := f.qosRules(get)
		if err := cmp.Or(err, all.together(get), all.single(get), all.add("MinTRES", get("MinTRES"), setJobMin),
			user.add("MaxTRESPU", get("MaxTRESPU"), setHeld),
			account.add("MaxTRESPA", get("MaxTRESPA"), setHeld)); err != nil {
			return err
		}
		found.limits = slices.Concat(found.limits, all.list(), user.list(), account.list())
		found.rules = append(found.rules, rules)
		found.names = append(found.names, name)
		return nil
	})
	sortLimits(found.limits)
	slices.SortStableFunc(found.rules, func(a, b job.QOSRules) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(found.names)
	if found.names = slices.Compact(found.names); !complete {
		found.names = nil // a QOS that an incomplete list lacks would count as forbidden
	}
	return func() { f.qos = found }
}

// qosRules reads the rules of a QOS other than its limits.
func (f *Facts) qosRules(get record) (r job.QOSRules, err error) {
	r = job.QOSRules{
		Name: f.name(get("Name")), Priority: number(get("Priority")), UsageFactor: 1,
		Preempts: f.names(get("Preempt")), PreemptMode: preemptMode(get("PreemptMode")), Flags: flags(get("Flags")),
	}
	if text := get("UsageFactor"); len(text) > 0 {
		if r.UsageFactor, err = strconv.ParseFloat(string(text), 64); err != nil || !(r.UsageFactor >= 0) {
			return r, badNumber("UsageFactor", text)
		}
	}
	if r.GraceTime, err = squeueLimit("GraceTime", get("GraceTime")); err != nil {
		return r, err
	}
	r.PreemptExempt, err = squeueLimit("PreemptExemptTime", get("PreemptExemptTime"))
	return r, err
}

// preemptMode parses the action on preempted jobs. "" means the mode of the machine, or no preemption.
func preemptMode(text []byte) string {
	switch mode := strings.ToUpper(string(text)); mode {
	case "CLUSTER", "OFF", "DISABLED":
		return ""
	default:
		return mode
	}
}

// assocFacts are the facts about associations.
type assocFacts struct {
	limits   []job.Limit
	list     []job.Association
	accounts []job.Account
}

// assoc is an association: the limits of its jobs together, and those of each of its users.
type assoc struct {
	job.Association
	parent    string
	all, user limitSet
}

// readAssociations reads associations. For each account it reads the limits of all jobs of the account together, and
// the limits per user. Users inherit the limits per user, so for each user it reads only limits that differ. It skips
// the associations of other clusters.
func (f *Facts) readAssociations(each eachRecord) func() {
	var found []assoc
	complete := each(func(get record) error {
		if own := f.general.clusterName; own != "" && string(get("Cluster")) != own {
			return nil
		}
		a, err := f.association(get)
		if err == nil {
			found = append(found, a)
		}
		return err
	})
	facts := assocFacts{limits: assocLimits(found), list: associations(found)}
	if complete { // an account that an incomplete list lacks would count as forbidden
		facts.accounts = accountList(found)
	}
	return func() { f.assoc = facts }
}

// association reads one association.
func (f *Facts) association(get record) (assoc, error) {
	a := assoc{parent: f.name(get("ParentName")), Association: job.Association{
		Account: f.name(get("Account")), User: f.name(get("User")), Queue: f.name(get("Partition")),
		Priority: number(get("Priority")), DefaultQOS: f.name(get("DefaultQOS")), QOSs: f.names(get("QOS")),
	}}
	owner := job.Limit{Account: a.Account, User: a.User, Queue: a.Queue}
	a.all = newLimitSet(owner)
	owner.PerUser = a.User == ""
	a.user = newLimitSet(owner)
	a.user[""].Jobs, a.user[""].Submitted = countBound(get("MaxJobs")), countBound(get("MaxSubmit"))
	return a, cmp.Or(a.all.together(get), a.user.single(get))
}

// assocLimits returns the limits of associations.
func assocLimits(found []assoc) (limits []job.Limit) {
	accounts := map[string]limitSet{} // limits per user of each account
	for _, a := range found {
		if a.User == "" {
			accounts[a.Account] = a.user
		}
	}
	for _, a := range found {
		if a.User == "" {
			limits = slices.Concat(limits, a.all.list(), a.user.list())
			continue
		}
		for gpuType, own := range a.user {
			var inherited job.Limit
			if l := accounts[a.Account][gpuType]; l != nil {
				inherited = *l
			}
			inherited.Account, inherited.User, inherited.Queue = own.Account, own.User, own.Queue
			inherited.PerUser, inherited.GPUType = false, own.GPUType
			if *own != inherited {
				a.all.merge(gpuType, own)
			}
		}
		limits = append(limits, a.all.list()...)
	}
	sortLimits(limits)
	return limits
}

// merge adds the bounds per user and per job of a user's association to s, which has the association's bounds on all
// jobs together. Bounds per user and bounds on all jobs together are about the same jobs here, so the tighter one
// counts.
func (s limitSet) merge(gpuType string, user *job.Limit) {
	l := s[gpuType]
	if l == nil {
		s[gpuType] = user
		return
	}
	l.Jobs, l.Submitted = tighter(l.Jobs, user.Jobs), tighter(l.Submitted, user.Submitted)
	l.JobProcs, l.JobNodes, l.JobGPUs, l.JobMemory = user.JobProcs, user.JobNodes, user.JobGPUs, user.JobMemory
	l.MaxTime, l.JobMinutes, l.PerNode = user.MaxTime, user.JobMinutes, user.PerNode
}

// associations returns the associations that have a priority, a default QOS or a list of QOSs, sorted by account, user
// and queue. It leaves out a user's association if these three equal those of the account.
func associations(found []assoc) (list []job.Association) {
	accounts := map[string]job.Association{}
	for _, a := range found {
		if a.User == "" {
			accounts[a.Account] = a.Association
		}
	}
	for _, a := range found {
		of, own := accounts[a.Account], a.Association
		if a.User != "" && own.Priority == of.Priority && own.DefaultQOS == of.DefaultQOS &&
			slices.Equal(own.QOSs, of.QOSs) || own.Priority == 0 && own.DefaultQOS == "" && own.QOSs == nil {
			continue
		}
		list = append(list, own)
	}
	slices.SortStableFunc(list, func(a, b job.Association) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User), cmp.Compare(a.Queue, b.Queue))
	})
	return list
}

// accountList returns the accounts, sorted by name, each with its parent and its users, which are sorted too.
func accountList(found []assoc) []job.Account {
	accounts := map[string]*job.Account{}
	for _, a := range found {
		account := accounts[a.Account]
		if account == nil {
			account = &job.Account{Name: a.Account}
			accounts[a.Account] = account
		}
		if a.User != "" {
			account.Users = append(account.Users, a.User)
		} else {
			account.Parent = a.parent
		}
	}
	var out []job.Account
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		account := accounts[name]
		slices.Sort(account.Users)
		account.Users = slices.Compact(account.Users)
		out = append(out, *account)
	}
	return out
}

// tighter returns the smaller of two bounds; 0 means no bound.
func tighter(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// sortLimits orders limits by their owners. The limits of one owner stay in their order.
func sortLimits(limits []job.Limit) {
	slices.SortStableFunc(limits, func(a, b job.Limit) int {
		return cmp.Or(cmp.Compare(a.QOS, b.QOS), cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User),
			cmp.Compare(a.Queue, b.Queue))
	})
}
