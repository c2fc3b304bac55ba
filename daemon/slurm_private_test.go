package daemon_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/client"
	"github.com/waitcast/waitcast/config"
	checking "github.com/waitcast/waitcast/daemon/check"
)

// TestRealSlurmPrivate proves on a real Slurm with PrivateData=jobs,usage what each surface says while Slurm hides jobs
// from the daemon's user, after that user was made an operator by the command that the daemon names, and after the
// right was withdrawn. No known job ends or vanishes, and the daemon is not restarted.
func TestRealSlurmPrivate(t *testing.T) {
	t.Parallel() // the test waits for Slurm most of the time
	if _, err := exec.LookPath("runuser"); err != nil {
		t.Skip("real Slurm with PrivateData: runuser is missing")
	}
	c := newSlurm(t, 2, 4, "--accounting")
	conf, err := os.OpenFile(filepath.Join(c.dir, "slurm.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = conf.WriteString("PrivateData=jobs,usage\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := conf.Close(); err != nil {
		t.Fatal(err)
	}
	c.run("scontrol", "reconfigure")
	const user = "daemon" // every Debian has it, and slurmdbd does not know it
	prefix := fmt.Sprintf("runuser, -u, %s, --, env, %q", user, c.conf())
	s := c.site("{format: slurm-log, path: LOG}", "{format: slurm-squeue, command: ["+prefix+", squeue], interval: 1s}",
		"{format: slurm-facts, command: ["+prefix+"], interval: 1s}")
	for _, uid := range []string{"games", "games", "news", "news", "news", "news", "mail", "mail"} {
		c.sbatch("sleep 1000", "-n", "4", "-t", "10", "--uid="+uid)
	}
	d := s.start(t)
	p := &privateSlurm{slurmCluster: c, site: s, running: d}

	p.incomplete("at first", "sacctmgr -i add user "+user+" account=root adminlevel=operator", "squeue", "facts")
	p.jobs("at first", 6)
	_, lines := d.readyz()
	command := regexp.MustCompile(`(?m)slurm-facts: .*: (sacctmgr .*)$`).FindStringSubmatch(strings.Join(lines, "\n"))
	if command == nil {
		t.Fatalf("no command in %q", lines)
	}
	words := strings.Fields(command[1])
	c.run(words[0], words[1:]...)
	d.eventually("the daemon sees everything", func() bool { return d.isReady() })
	p.jobs("as an operator", 0)
	if r := p.check(); r["scheduler.rights"] != "" || !strings.HasPrefix(r["access.others"],
		"ok: users see only their own waiting jobs") {
		t.Errorf("check as an operator: %q", r)
	}

	c.run("sacctmgr", "-i", "modify", "user", user, "set", "adminlevel=none")
	// The facts examine the right of an operator only every ten minutes.
	p.incomplete("without the right again", "sacctmgr -i modify user "+user+" set adminlevel=operator", "squeue")
	p.jobs("without the right again", 0)
}

// privateSlurm is a Slurm with PrivateData=jobs and a daemon beside it.
type privateSlurm struct {
	*slurmCluster
	site    *site
	running *running
}

// incomplete waits until the given sources of the daemon know that Slurm hides jobs and usage, for several snapshots.
// It checks what each surface says about it.
func (p *privateSlurm) incomplete(when, command string, sources ...string) {
	p.t.Helper()
	d := p.running
	var lines []string
	said := func() bool {
		status, now := d.readyz()
		lines = now
		text := strings.Join(now, "\n")
		for _, source := range sources {
			if !strings.Contains(text, map[string]string{
				"squeue": "source_incomplete: source main/slurm-squeue: Slurm hides known jobs",
				"facts":  "source_incomplete: source main/slurm-facts: Slurm hides jobs, usage from user daemon",
			}[source]) {
				return false
			}
		}
		return status == http.StatusOK && now[0] == "degraded" && strings.Contains(text, command) &&
			strings.Contains(text, "8 of 8 known jobs are not listed")
	}
	d.eventually(when+": /readyz has the conditions", said)
	after := float64(time.Now().Unix() + 4)
	d.eventually(when+": more snapshots", func() bool {
		var at float64
		_, err := fmt.Sscan(d.metric(`waitcast_snapshot_last_success_timestamp_seconds{cluster="main",`+
			`source="main/slurm-squeue"}`), &at)
		return err == nil && at > after
	})
	if !said() {
		p.t.Errorf("%s: after more snapshots /readyz has %q", when, lines)
	}
	_, metrics := d.get("/metrics")
	for _, source := range sources {
		series := regexp.MustCompile(`(?m)^waitcast_health_condition\{.*condition="source_incomplete".*reason=".*` +
			`sacctmgr .*adminlevel=operator.*source="main/slurm-` + source + `"\} 1$`)
		if !series.MatchString(metrics) {
			p.t.Errorf("%s: no metric of the condition of slurm-%s", when, source)
		}
	}
	_, health := d.get("/v1/health") // the page and the command print this
	if !strings.Contains(health, command) {
		p.t.Errorf("%s: /v1/health lacks %q: %s", when, command, health)
	}
	if r := p.check(); !strings.HasPrefix(r["scheduler.rights"], "failed: ") ||
		!strings.HasSuffix(r["scheduler.rights"], command) {
		p.t.Errorf("%s: check says %q", when, r)
	}
}

// jobs checks that the daemon knows all eight jobs, and who sees the waiting ones. pending is the number of jobs whose
// sizes are not known. The log has the sizes of the two that run.
func (p *privateSlurm) jobs(when string, pending int) {
	p.t.Helper()
	d := p.running
	d.eventually(when+": the daemon knows all jobs", func() bool {
		v := d.Views()[0]
		unknown := 0
		for _, j := range v.Queued {
			if j.DetailsPending() {
				unknown++
			}
		}
		return len(v.Running) == 2 && len(v.Queued) == 6 && unknown == pending
	})
	for _, path := range []string{"/v1/jobs", "/v1/jobs/8", "/v1/wait?procs=1&user=news"} {
		status, body := d.get(path)
		if status != http.StatusUnauthorized || !strings.Contains(body, "PrivateData=jobs") {
			p.t.Errorf("%s: GET %s without a credential: status %d: %s", when, path, status, body)
		}
	}
	status, body := d.get("/v1/wait?procs=4&queue=short&time_limit=10m")
	if status != http.StatusOK {
		p.t.Errorf("%s: a question in nobody's name: status %d: %s", when, status, body)
	}
	hidden := len(d.Views()[0].Conditions()) > 0
	if ahead := strings.Contains(body, `"queued_ahead_jobs":6,`); !ahead ||
		strings.Contains(body, "the scheduler hides jobs or facts from the daemon") != hidden {
		p.t.Errorf("%s: want 6 jobs ahead, and a warning: %v: %s", when, hidden, body)
	}
	sender, err := client.Credentials{Token: p.site.adminToken(p.t)}.HTTPClient()
	if err != nil {
		p.t.Fatal(err)
	}
	admin, err := client.New("http://"+d.Addr().String(), sender)
	if err != nil {
		p.t.Fatal(err)
	}
	all, _, err := admin.Jobs(p.t.Context(), client.JobsQuery{})
	if err != nil || len(all.Jobs) != 6 || all.Jobs[0].DetailsPending != (pending > 0) {
		p.t.Errorf("%s: an administrator gets %v, %v", when, all, err)
	}
}

// check runs the checks, and returns the status, the text and the hint of the findings about rights, by id. The last
// one of an id counts.
func (p *privateSlurm) check() map[string]string {
	p.t.Helper()
	cfg, err := config.Load(p.site.config, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range checking.Run(p.t.Context(), cfg, checking.Options{Records: 1000, Limit: time.Minute}).Findings {
		switch f.ID {
		case "scheduler.rights", "access.others", "scheduler.jobs":
			out[f.ID] = strings.TrimSpace(fmt.Sprintf("%s: %s %s", f.Status, f.Text, f.Hint))
		}
	}
	return out
}
