package slurm

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// qosFields are the columns that are asked for of each QOS, as sacctmgr(1) names them.
var qosFields = [...]string{"Name", "Priority", "GrpJobs", "GrpSubmit", "GrpTRES", "MaxTRES", "MaxWall", "MaxJobsPU",
	"MaxSubmitPU", "MaxTRESPU"}

// assocFields are those of each association. Limits that are its parent's are printed as its own.
var assocFields = [...]string{"Cluster", "Account", "User", "Partition", "GrpJobs", "GrpSubmit", "GrpTRES", "MaxTRES",
	"MaxWall", "MaxJobs", "MaxSubmit"}

func sacctmgrCommand(what string, fields []string) []string {
	return []string{"sacctmgr", "--noheader", "--parsable2", "--readonly", "show", what,
		"format=" + strings.Join(fields, ",")}
}

// barred splits a line of sacctmgr.
func barred(line []byte, fields []string) ([][]byte, error) {
	got := bytes.Split(line, []byte("|"))
	if len(got) != len(fields) {
		return nil, collector.Bad(collector.ReasonFormat, "", "want %d fields with bars between them, got %q",
			len(fields), shorten(line))
	}
	return got, nil
}

// group sets what all jobs together may have: columns like GrpJobs, GrpSubmit, GrpTRES.
func group(l *job.Limit, f [][]byte) error {
	together, err := parseTRES("TRES", f[2])
	l.Jobs, l.Submitted = number(f[0]), number(f[1])
	l.Procs, l.Nodes, l.Memory, l.GPUs = together.procs, together.nodes, together.memory, together.gpus
	return err
}

// single sets what one job may have: columns like MaxTRES, MaxWall.
func single(l *job.Limit, f [][]byte) error {
	one, err := parseTRES("MaxTRES", f[0])
	if err != nil {
		return err
	}
	l.JobProcs, l.JobNodes = one.procs, one.nodes
	l.MaxTime, err = squeueLimit("MaxWall", f[1])
	return err
}

// boundLimits returns the limits that bound something.
func boundLimits(limits ...job.Limit) (out []job.Limit) {
	for _, l := range limits {
		if l != (job.Limit{QOS: l.QOS, Account: l.Account, User: l.User, Queue: l.Queue, PerUser: l.PerUser}) {
			out = append(out, l)
		}
	}
	return out
}

// readQOS reads "sacctmgr show qos": of each what all its jobs together may have, and what those of each user may.
func (f *Facts) readQOS(each eachLine) func() {
	var limits []job.Limit
	var names []string
	complete := true // a list with gaps would forbid what it lacks
	each(func(line []byte) (err error) {
		defer func() { complete = complete && err == nil }()
		c, err := barred(line, qosFields[:])
		if err != nil {
			return err
		}
		all := job.Limit{QOS: f.parser.known(c[0]), Priority: number(c[1])}
		user := job.Limit{QOS: all.QOS, PerUser: true}
		if err := cmp.Or(group(&all, c[2:5]), single(&all, c[5:7]), group(&user, c[7:10])); err != nil {
			return err
		}
		limits = append(limits, boundLimits(all, user)...)
		names = append(names, all.QOS)
		return nil
	})
	sortLimits(limits)
	slices.Sort(names)
	names = slices.Compact(names)
	if !complete {
		names = nil
	}
	return func() { f.qosLimits, f.qosList = limits, names }
}

// readAssociations reads "sacctmgr show assoc": of each account what all its jobs together may have, and what those of
// each of its users may; of a user, who inherits the latter, what is different.
func (f *Facts) readAssociations(each eachLine) func() {
	type assoc struct{ all, user job.Limit }
	accounts := map[string]job.Limit{} // what each user of an account may
	var found []assoc
	complete := true // as in readQOS
	each(func(line []byte) (err error) {
		defer func() { complete = complete && err == nil }()
		c, err := barred(line, assocFields[:])
		if err != nil {
			return err
		}
		if own := f.general.clusterName; own != "" && string(c[0]) != own {
			return nil
		}
		a := assoc{all: job.Limit{Account: f.parser.known(c[1]), User: f.parser.known(c[2]),
			Queue: f.parser.known(c[3])}}
		a.user = a.all
		if err := cmp.Or(group(&a.all, c[4:7]), single(&a.user, c[7:9])); err != nil {
			return err
		}
		a.user.Jobs, a.user.Submitted = number(c[9]), number(c[10])
		if a.all.User == "" {
			a.user.PerUser = true
			accounts[a.all.Account] = a.user
		}
		found = append(found, a)
		return nil
	})
	var limits []job.Limit
	for _, a := range found {
		if a.all.User == "" {
			limits = append(limits, boundLimits(a.all, a.user)...)
			continue
		}
		inherited := accounts[a.all.Account]
		inherited.User, inherited.Queue, inherited.PerUser = a.user.User, a.user.Queue, false
		if a.user != inherited {
			a.all.Jobs, a.all.Submitted = tighter(a.all.Jobs, a.user.Jobs), tighter(a.all.Submitted, a.user.Submitted)
			a.all.JobProcs, a.all.JobNodes, a.all.MaxTime = a.user.JobProcs, a.user.JobNodes, a.user.MaxTime
		}
		limits = append(limits, boundLimits(a.all)...)
	}
	sortLimits(limits)
	var list []job.Account
	if complete {
		users := map[string][]string{}
		for _, a := range found {
			users[a.all.Account] = append(users[a.all.Account], a.all.User)
		}
		list = accountList(users)
	}
	return func() { f.assocLimits, f.accountList = limits, list }
}

// accountList returns accounts and their users in order; an empty name is the account's own association.
func accountList(users map[string][]string) []job.Account {
	var out []job.Account
	for _, name := range slices.Sorted(maps.Keys(users)) {
		list := slices.DeleteFunc(users[name], func(user string) bool { return user == "" })
		slices.Sort(list)
		out = append(out, job.Account{Name: name, Users: slices.Compact(list)})
	}
	return out
}

// tighter returns the smaller of two bounds, of which 0 is none.
func tighter(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

func sortLimits(limits []job.Limit) {
	slices.SortStableFunc(limits, func(a, b job.Limit) int {
		return cmp.Or(cmp.Compare(a.QOS, b.QOS), cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User),
			cmp.Compare(a.Queue, b.Queue))
	})
}
