package slurm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waitcast/waitcast/collector/source"
)

// rights has what Slurm hides, and from whom.
type rights struct {
	slurmUser string
	// database is PrivateData of slurmdbd.conf. That of slurm.conf is in general.
	database string
	user     string // who runs the commands; "" if unknown
	known    knownUser
	level    string // AdminLevel of user in slurmdbd
}

// private returns the kinds of hidden data that matter to the daemon. With slurmdbd, accounts and users are hidden by
// slurmdbd.conf, and other data by slurm.conf.
func (f *Facts) private() (kinds []string) {
	for _, of := range [...]struct{ set, kinds string }{
		{f.general.private, "jobs nodes partitions reservations usage"}, {f.rights.database, "accounts users"},
	} {
		for kind := range strings.SplitSeq(of.set, ",") {
			if slices.Contains(strings.Fields(of.kinds), kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// rightsParts returns the query of the configuration, and those that find out whether Slurm hides data from the user
// who runs the commands. They come before the other queries, all of which are repeated once the user gets the right to
// see everything.
func (f *Facts) rightsParts() []*part {
	anyPrivate := func() bool { return len(f.private()) > 0 }
	level := &part{name: "sacctmgr show user"}
	level.needed = func() bool { return anyPrivate() && f.accounts() && f.rights.user != "" && !f.rights.root() }
	level.ask = func(ctx context.Context) ([]entry, error) {
		fields := []string{"User", "AdminLevel"}
		command := sacctmgrCommand("user", fields)
		command = slices.Insert(command, len(command)-1, "name="+f.rights.user)
		return f.runCommand(command, lines(barred(fields)))(ctx)
	}
	level.read = func(each eachRecord) func() {
		known, now := newUser, ""
		each(func(get record) error {
			known, now = oldUser, string(get("AdminLevel"))
			return nil
		})
		return func() {
			before := f.rights.operator()
			f.rights.known, f.rights.level = known, now
			level.every = 0 // the user may become an operator at any time
			if !f.rights.operator() {
				return
			}
			level.every = factsEvery
			for _, p := range f.parts {
				if !before && p != level {
					p.asked, p.failed = time.Time{}, 0
				}
			}
		}
	}
	return []*part{
		{name: "scontrol show config", every: factsEvery, ask: f.runCommand(scontrol("config"), settings),
			read: f.readConfig},
		{name: "sacctmgr show configuration", every: factsEvery, needed: f.accounts,
			ask:  f.runCommand([]string{"sacctmgr", "--readonly", "show", "configuration"}, settings),
			read: f.readDatabaseConfig},
		{name: "id -un (who asks Slurm)", every: factsEvery, needed: anyPrivate,
			ask: f.runCommand([]string{"id", "-un"}, settingOf("user")), read: f.readUser},
		level,
	}
}

// readDatabaseConfig reads the configuration of slurmdbd. It comes after that of slurm.conf, with some equal keys.
func (f *Facts) readDatabaseConfig(each eachRecord) func() {
	private := ""
	each(func(get record) error {
		private = strings.ToLower(string(get("PrivateData")))
		return nil
	})
	return func() { f.rights.database = private }
}

func (f *Facts) readUser(each eachRecord) func() {
	name := f.cfg.As
	each(func(get record) error {
		name = cmp.Or(name, string(get("user")))
		return nil
	})
	return func() {
		if f.rights.user != name {
			f.rights.user, f.rights.known, f.rights.level = name, unknownUser, ""
		}
	}
}

// settingOf returns a function that makes one record of an output, with a single key.
func settingOf(key string) func(output []byte) []entry {
	return func(output []byte) []entry {
		return settings(append([]byte(key+"="), output...))
	}
}

// root reports whether Slurm hides nothing from the user, whatever slurmdbd says.
func (r *rights) root() bool { return r.user == "root" || r.user != "" && r.user == r.slurmUser }

func (r *rights) operator() bool {
	return r.root() || r.level == "Operator" || r.level == "Administrator"
}

// denied is a part of Slurm's message if a user may not see anything of a kind.
const denied = "Access/permission denied"

// gap returns what Slurm hides from the daemon, nil if nothing.
func (f *Facts) gap() *source.Gap {
	hidden := f.private()
	if r := &f.rights; r.operator() || f.accounts() && r.known == unknownUser || r.user == "" {
		hidden = nil
		if slices.ContainsFunc(f.parts, func(p *part) bool { return p.denied }) {
			hidden = []string{"some facts"}
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	user := f.rights.user
	if f.cfg.Rest != nil {
		user = f.cfg.Rest.User
	}
	advice := operatorAdvice(user, f.rights.known)
	if f.cfg.Rest == nil && !f.accounts() {
		advice = "without slurmdbd only root and " + cmp.Or(f.rights.slurmUser, "SlurmUser") +
			" see everything: set the source's command so that it asks as one of them"
	}
	return &source.Gap{Reason: fmt.Sprintf("Slurm hides %s from user %s (PrivateData), so forecasts are wrong: %s",
		strings.Join(hidden, ", "), cmp.Or(user, "USER"), advice)}
}
