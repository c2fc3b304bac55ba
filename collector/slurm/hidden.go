package slurm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/job"
)

// owner has the user and the account of a job. Slurm hides either all or none of the jobs of an owner.
type owner struct{ user, account string }

// gone ends the jobs in the picture that are missing in this snapshot and in the previous one, unless Slurm may hide
// them. They end at the time of the first snapshot without them. gone leaves out jobs whose submission or start is so
// recent that this snapshot may lack them.
func (c *comparison) gone() {
	missing := map[string]finding{}
	listedRecent, missingRecent, hidden := 0, 0, 0
	for id, live := range c.picture {
		f, again := c.missing[id]
		switch {
		case c.present[id]:
			if c.recent(&live) {
				listedRecent++
			}
			continue
		case again && f.recent:
			missingRecent++
		case again:
		case c.fresh(live.Submit) || c.fresh(live.Start) || !live.Submit.Before(c.at) || !live.Start.Before(c.at):
			continue
		default:
			f = finding{at: c.at, recent: c.recent(&live)}
		}
		missing[id] = f
	}
	proven := missingRecent > listedRecent
	for _, id := range slices.Sorted(maps.Keys(missing)) {
		f, again := c.missing[id]
		live := c.picture[id]
		switch {
		case !again:
		case c.visible(id, &live, f.at, proven):
			missing[id] = c.end(id, f)
		default:
			hidden++
		}
	}
	c.Snapshot.missing, c.lacks = missing, c.gap(hidden, proven)
	maps.DeleteFunc(c.seen, func(id string, _ bool) bool {
		_, live := c.picture[id]
		return !live && !c.present[id]
	})
}

// end reports the end of a job at the time of a finding.
func (c *comparison) end(id string, f finding) finding {
	ev := job.Event{Kind: job.End, Cluster: c.cfg.Options.Cluster, ID: id, Time: f.at, Live: !c.first}
	if f.reported { // the first report came too early, so that the job is reported again
		ev.Time = c.at
	}
	ev.Times.End = ev.Time
	c.emit(ev)
	f.reported = true
	return f
}

// recently is the time for which a job counts as recent after its submission and after its start. It is shorter than
// the usual MinJobAge of slurm.conf, 300 s: a recent job that has ended would be listed as ended.
const recently = 2 * time.Minute

// recent reports whether a job of the picture was submitted or started recently.
func (c *comparison) recent(live *Live) bool {
	since := c.at.Add(-recently)
	return live.Over.IsZero() && (live.Submit.After(since) || live.Start.After(since))
}

// visible reports whether this snapshot would contain a job if the job were not over. since is the time of the first
// snapshot without the job. proven means that Slurm hides jobs, because most of the recent jobs are missing.
//
// Slurm hides jobs by their owners: those of the asking user are visible; those of an account are if that user is its
// coordinator; all are if that user is an operator. These rights may change at any time.
func (c *comparison) visible(id string, live *Live, since time.Time, proven bool) bool {
	private, known := c.private()
	switch {
	case c.user == "root", !live.Over.IsZero():
		return true
	case live.User != "" && (live.User == c.user || c.owners[owner{live.User, live.Account}]):
		return true
	case !c.others: // an idle machine, or all jobs of others are hidden since a change that is not known yet
		return known && !private && !proven && c.at.Sub(since) > factsEvery+factsEvery/2
	case known && !private:
		return true
	case proven:
		return false
	}
	return c.seen[id] || c.cfg.Alone || !known
}

// private reports whether Slurm hides jobs of other users, as far as it is known.
func (c *comparison) private() (hidden, known bool) {
	if c.cfg.Facts == nil {
		return false, false
	}
	return c.cfg.Facts().PrivateJobs()
}

// gap returns what the snapshot lacks, nil for nothing. hidden is the number of the jobs that are missing and may be
// hidden. If jobs of others are visible, or if Slurm is known to hide nothing, jobs count as hidden only if that is
// proven.
func (c *comparison) gap(hidden int, proven bool) *source.Gap {
	private, known := c.private()
	if hidden == 0 || !proven && (c.others || known && !private) {
		return nil
	}
	return &source.Gap{
		Reason: "Slurm hides known jobs (PrivateData=jobs), so forecasts are wrong: " +
			operatorAdvice(c.user, unknownUser),
		Progress: fmt.Sprintf("%d of %d known jobs are not listed", hidden, len(c.picture)),
	}
}

// knownUser says whether slurmdbd knows a user.
type knownUser uint8

const (
	unknownUser knownUser = iota // it is not known whether slurmdbd knows the user
	newUser
	oldUser
)

// operatorAdvice returns the command by which an administrator of Slurm makes a user an operator. "sacctmgr add" does
// not change the level of a user whom slurmdbd knows already, and "sacctmgr modify" does not make a user.
func operatorAdvice(user string, known knownUser) string {
	user = cmp.Or(user, "USER")
	add := "sacctmgr -i add user " + user + " account=root adminlevel=operator"
	modify := "sacctmgr -i modify user " + user + " set adminlevel=operator"
	switch known {
	case newUser:
		return add
	case oldUser:
		return modify
	}
	return modify + ", or if slurmdbd does not know this user: " + add
}
