package slurm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/job"
)

// privateFile returns a file of testdata/private.
func privateFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "private", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHiddenJobs proves, on the listings of a real Slurm with PrivateData=jobs, that a listing which may be incomplete
// ends no job that the log knows, and that it has a gap which names the command that helps. The log has the jobs 16 to
// 20, submitted between second 0 and 1; 16 and 18 are of the account physics.
func TestHiddenJobs(t *testing.T) {
	const nothing = ""
	physics, all := privateFile(t, "coordinator.txt"), privateFile(t, "operator.txt")
	begin := time.Date(2026, 11, 29, 7, 24, 41, 0, time.UTC)
	type listing struct {
		second int
		text   string
		hidden string // what the gap counts, "" for no gap
		ends   string // ids of the jobs that end
	}
	for _, c := range []struct {
		name, user, private string
		restart             bool // with a new Snapshot after the first listing
		listings            []listing
	}{
		{"no rights", "daemon", "jobs", false, []listing{{10, nothing, "", ""}, {20, nothing, "5 of 5", ""},
			{3600, nothing, "5 of 5", ""}, {3610, all, "", ""}}},
		{"no rights, and PrivateData is not known", "daemon", "", false, []listing{{10, nothing, "", ""},
			{20, nothing, "5 of 5", ""}, {7200, nothing, "5 of 5", ""}}},
		{"no rights since a moment", "daemon", "none", false, []listing{{10, all, "", ""}, {20, nothing, "", ""},
			{30, nothing, "5 of 5", ""}, {7200, nothing, "5 of 5", ""}}},
		{"coordinator of an account", "daemon", "jobs,usage", false, []listing{{10, physics, "", ""},
			{20, physics, "3 of 5", ""}, {3600, physics, "3 of 5", ""}, {3610, all, "", ""}}},
		{"an operator loses the right", "daemon", "jobs", false, []listing{{10, all, "", ""}, {600, all, "", ""},
			{610, nothing, "", ""}, {620, nothing, "5 of 5", ""}, {630, all, "", ""}}},
		{"a restart without rights on a machine at rest", "daemon", "jobs", true, []listing{{10, all, "", ""},
			{600, nothing, "", ""}, {610, nothing, "5 of 5", ""}}},
		{"a user who asks as root", "root", "jobs", false, []listing{{600, all, "", ""}, {610, nothing, "", ""},
			{620, nothing, "", "16 17 18 19 20"}}},
		{"an idle machine that hides nothing", "daemon", "none", false, []listing{{600, all, "", ""},
			{610, nothing, "", ""}, {620, nothing, "", ""}, {1600, nothing, "", "16 17 18 19 20"}}},
		{"an operator, and an end that the log lost", "daemon", "jobs", false, []listing{{600, all, "", ""},
			{610, physics, "", ""}, {620, physics, "", "17 19 20"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, false, c.user)
			s.private = c.private
			parser := slurm.Log(nil).New(collector.Options{Cluster: "alpha", Location: time.UTC})
			for line := range strings.Lines(privateFile(t, "slurmctld.log")) {
				if err := parser.Parse([]byte(strings.TrimSpace(line)), func(ev job.Event) { s.fold(ev) }); err != nil {
					t.Fatal(err)
				}
			}
			for i, l := range c.listings {
				if i == 1 && c.restart {
					again := newStage(t, false, c.user)
					again.state, again.private = s.state, s.private
					s = again
				}
				a := s.Read([]byte(l.text), begin.Add(time.Duration(l.second)*time.Second))
				if a.Err != nil || len(a.Bad) > 0 {
					t.Fatalf("listing %d: %v, %d bad lines", i, a.Err, len(a.Bad))
				}
				var ends []string
				for _, ev := range a.Events {
					if ev.Kind == job.End {
						ends = append(ends, ev.ID)
					}
				}
				s.fold(a.Events...)
				slices.Sort(ends)
				if got := strings.Join(ends, " "); got != l.ends {
					t.Errorf("listing %d: %q end, want %q", i, got, l.ends)
				}
				switch {
				case (a.Gap == nil) != (l.hidden == ""):
					t.Errorf("listing %d: gap %+v, want %q", i, a.Gap, l.hidden)
				case a.Gap != nil && (!strings.HasPrefix(a.Gap.Progress, l.hidden+" ") ||
					!strings.Contains(a.Gap.Reason, "sacctmgr -i modify user daemon set adminlevel=operator")):
					t.Errorf("listing %d: gap %+v, want %q", i, a.Gap, l.hidden)
				}
			}
		})
	}
}

// TestHiddenFacts proves, on the outputs of a real Slurm, that the facts have a gap with the command that helps if the
// user who asks has no right to see everything, and that they are queried again at once when the user gets the right.
func TestHiddenFacts(t *testing.T) {
	config, none, operator := privateFile(t, "config.txt"), privateFile(t, "user-none.txt"),
		privateFile(t, "user-operator.txt")
	slurmOnly := strings.Replace(config, "accounts,jobs,nodes,partitions,reservations,usage,users", "jobs,usage", 1)
	const all = "Slurm hides jobs, nodes, partitions, reservations, usage, accounts, users from user daemon"
	open := "PrivateData = none"
	for name, c := range map[string]struct {
		config, database, id, user string
		want                       string // "" for no gap
	}{
		"no operator":             {config, privateFile(t, "configuration.txt"), "daemon\n", none, all},
		"the words of slurm.conf": {slurmOnly, open, "daemon\n", none, "Slurm hides jobs, usage from user daemon"},
		"its known user": {slurmOnly, open, "daemon\n", none,
			"sacctmgr -i modify user daemon set adminlevel=operator"},
		"its unknown user": {slurmOnly, open, "daemon\n", "",
			"sacctmgr -i add user daemon account=root adminlevel=operator"},
		"an operator":              {config, open, "daemon\n", operator, ""},
		"root":                     {config, open, "root\n", none, ""},
		"SlurmUser":                {strings.Replace(config, "root(0)", "daemon(1)", 1), open, "daemon\n", none, ""},
		"nothing is private":       {captured(t)["config"], open, "daemon\n", none, ""},
		"it is not known who asks": {config, open, "", none, ""},
		"without slurmdbd": {strings.Replace(slurmOnly, "storage/slurmdbd", "storage/none", 1), open, "daemon\n", none,
			"without slurmdbd only root and root see everything"},
	} {
		p := &pretend{texts: captured(t)}
		p.texts["config"], p.texts["configuration"], p.texts["id"], p.texts["user"] = c.config, c.database, c.id, c.user
		a := p.facts(t).Ask(t.Context(), capturedAt)
		switch {
		case a.Err != nil:
			t.Errorf("%s: %v", name, a.Err)
		case (a.Gap == nil) != (c.want == ""), a.Gap != nil && !strings.Contains(a.Gap.Reason, c.want):
			t.Errorf("%s: gap %+v, want %q", name, a.Gap, c.want)
		case a.Gap != nil && len(a.Gap.Reason) > 300:
			t.Errorf("%s: a reason of %d bytes would be cut", name, len(a.Gap.Reason))
		}
	}

	p := &pretend{texts: captured(t)}
	p.texts["config"], p.texts["configuration"], p.texts["id"] = config, privateFile(t, "configuration.txt"), "daemon\n"
	p.texts["user"] = none
	f := p.facts(t)
	if a := f.Ask(t.Context(), capturedAt); a.Gap == nil || factsOf(t, a).Private != "accounts,jobs,nodes,partitions,"+
		"reservations,usage,users" {
		t.Errorf("without the right: gap %+v", a.Gap)
	}
	p.texts["user"], p.calls = operator, nil
	if a := f.Ask(t.Context(), capturedAt.Add(time.Minute)); a.Gap != nil {
		t.Errorf("with the right: gap %+v", a.Gap)
	}
	if want := []string{"user", "sinfo", "reservation", "partition", "qos", "assoc"}; !slices.Equal(p.calls, want) {
		t.Errorf("calls %q, want %q", p.calls, want)
	}

	// slurmrestd does not report PrivateData. A query that Slurm denies has a gap all the same.
	denied := &pretend{texts: captured(t)}
	delete(denied.texts, "sinfo")
	denied.denies = "slurm_load_node: Access/permission denied"
	if a := denied.facts(t).Ask(t.Context(), capturedAt); a.Gap == nil ||
		!strings.HasPrefix(a.Gap.Reason, "Slurm hides some facts from user USER") {
		t.Errorf("denied: gap %+v", a.Gap)
	}
}
