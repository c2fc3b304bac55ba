package slurm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/slurm"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/job"
)

// restFacts is a fake slurmrestd that answers queries about the machine. The key of an answer is the last element of
// its path: "nodes", "qos".
type restFacts struct {
	*httptest.Server
	version string // the version of the fake's interface
	answers map[string]string
	fail    func(w http.ResponseWriter, r *http.Request) bool // reports whether it wrote another answer
	token   string                                            // if not empty, a request must send this token
}

func newRestFacts(tb testing.TB, version string, answers map[string]string) *restFacts {
	tb.Helper()
	s := &restFacts{version: version, answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := filepath.Base(r.URL.Path)
		base := "/slurm/"
		if list == "qos" || list == "associations" {
			base = "/slurmdb/"
		}
		answer, ok := s.answers[list]
		switch {
		case s.fail != nil && s.fail(w, r):
		case s.token != "" && r.Header.Get("X-SLURM-USER-TOKEN") != s.token:
			http.Error(w, "Authentication failure", http.StatusUnauthorized)
		case r.URL.Path != base+s.version+"/"+list || !ok:
			http.Error(w, "Unable find requested URL.", http.StatusNotFound)
		default:
			_, _ = w.Write([]byte(answer)) // a test that gives up does not read to the end
		}
	}))
	tb.Cleanup(s.Close)
	return s
}

// facts returns Facts that query this slurmrestd.
func (s *restFacts) facts(known *job.Facts, change ...func(*slurm.RestConfig)) *slurm.Facts {
	cfg := slurm.RestConfig{URL: s.URL, Timeout: time.Minute}
	for _, c := range change {
		c(&cfg)
	}
	return slurm.NewFacts(slurm.FactsConfig{
		Options: collector.Options{Cluster: "alpha", Location: time.UTC}, Rest: &cfg,
		Known: func() *job.Facts { return known },
	})
}

// restAnswers reads answers from the files PREFIXnodes.json and so on.
func restAnswers(tb testing.TB, prefixes map[string]string) map[string]string {
	tb.Helper()
	answers := map[string]string{}
	for list, prefix := range prefixes {
		text, err := os.ReadFile(prefix + list + ".json")
		if err != nil {
			tb.Fatal(err)
		}
		answers[list] = string(text)
	}
	return answers
}

// captured2411 returns the answers of slurmrestd 24.11.5 in version 0.0.42 on the cluster of testdata/facts/24.11.
func captured2411(tb testing.TB) map[string]string {
	tb.Helper()
	const prefix = "testdata/facts/24.11/v0.0.42/"
	return restAnswers(tb, map[string]string{"nodes": prefix, "partitions": prefix, "reservations": prefix,
		"qos": prefix, "associations": prefix, "shares": prefix})
}

// captured2411At is the instant at which the answers of captured2411 were captured.
var captured2411At = time.Unix(1795446988, 0).UTC()

// withoutConfiguration returns facts without the parts that slurmrestd does not report.
func withoutConfiguration(f *job.Facts) *job.Facts {
	g := *f
	g.Weights, g.Enforced, g.Preemption, g.Private = nil, job.Enforced{}, nil, ""
	g.Queues = slices.Clone(g.Queues)
	for i := range g.Queues {
		g.Queues[i].ExclusiveUser, g.Queues[i].Reserved = false, false
	}
	return &g
}

// TestFactsRestAsCommands proves that the facts of one cluster are the same from the commands of a real Slurm 24.11 and
// from its slurmrestd, except for the configuration, which slurmrestd does not report. Both equal the settings that
// were made on the cluster.
func TestFactsRestAsCommands(t *testing.T) {
	p := &pretend{texts: capturedFrom(t, "24.11")}
	asked := p.facts(t).Ask(t.Context(), captured2411At)
	commands := factsOf(t, asked)
	want := setUp()
	want.Version, want.SharesAt, want.Outages = "24.11.5", captured2411At, commands.Outages
	want.Private = "none"
	for _, shares := range [][]job.Share{want.Shares, want.AccountShares} { // a job had run on the cluster
		for i := range shares {
			switch s := &shares[i]; s.Account + " " + s.User {
			case "physics ann", "physics ", "science ", "root ":
				s.Usage = 59
			}
		}
	}
	if d := cmp.Diff(want, commands); d != "" {
		t.Errorf("-want +commands:\n%s", d)
	}
	if len(commands.Outages) != 5 || len(asked.Bad) > 0 || len(asked.Notes) > 0 {
		t.Errorf("%d outages, bad %v, notes %v", len(commands.Outages), asked.Bad, asked.Notes)
	}
	newest := captured2411(t)
	older := captured2411(t)
	older["qos"] = restAnswers(t, map[string]string{"qos": "testdata/facts/24.11/v0.0.41/"})["qos"]
	for version, answers := range map[string]map[string]string{"v0.0.42": newest, "v0.0.41": older} {
		a := newRestFacts(t, version, answers).facts(nil).Ask(t.Context(), captured2411At)
		if len(a.Bad) > 0 || len(a.Notes) > 0 {
			t.Errorf("%s: bad %v, notes %v", version, a.Bad, a.Notes)
		}
		want := withoutConfiguration(commands)
		if version == "v0.0.41" { // this version has neither GrpSubmit nor GrpTRESMins of a QOS
			want.Limits = slices.Clone(want.Limits)
			for i := range want.Limits {
				if l := &want.Limits[i]; l.QOS != "" && !l.PerUser && !l.PerAccount {
					l.Submitted, l.TotalMinutes = 0, job.Amounts{}
				}
			}
			want.Limits = slices.DeleteFunc(want.Limits,
				func(l job.Limit) bool { return l == job.Limit{QOS: "blocked"} })
		}
		if d := cmp.Diff(want, factsOf(t, a)); d != "" {
			t.Errorf("%s: -commands +slurmrestd:\n%s", version, d)
		}
	}
}

// TestFactsRestOfReleases parses answers of slurmrestd from four releases of Slurm. It compares the facts with the
// decoded JSON, and with figures that a person read in the files.
func TestFactsRestOfReleases(t *testing.T) {
	study := func(qos string) []job.Limit {
		return []job.Limit{
			{QOS: qos, Priority: 100, Jobs: 60, Nodes: 50, JobProcs: 128, MaxTime: 8 * time.Hour},
			{QOS: qos, PerUser: true, Jobs: 10, Submitted: 20, Procs: 128, Memory: 64 * gib},
			{QOS: qos, PerAccount: true, Submitted: 30, Procs: 196, Memory: 128 * gib},
		}
	}
	for _, c := range []struct {
		folder, version, release string
		limits                   []job.Limit
		outages                  int
		gpus                     int // GPUs of all nodes
	}{
		{"24.05_0.0.41", "v0.0.41", "24.05.3", []job.Limit{
			{QOS: "critical", Priority: 200, Jobs: 300, MaxTime: 48 * time.Hour},
			{QOS: "critical", PerUser: true, Jobs: 10, Submitted: 20},
			{QOS: "critical", PerAccount: true, Submitted: 30}}, 0, 0},
		{"24.11_0.0.42", "v0.0.42", "24.11.5", nil, 0, 12},
		{"25.05_0.0.43", "v0.0.43", "25.05.4", study("study"), 0, 8},
		{"25.11_0.0.44", "v0.0.44", "25.11.0", study("study"), 0, 16},
	} {
		t.Run(c.folder, func(t *testing.T) {
			prefix := refdata.Shared(t, "logs/slurmrestd/"+c.folder) + "/slurm-"
			answers := restAnswers(t, map[string]string{"nodes": prefix, "partitions": prefix, "reservations": prefix,
				"qos": prefix, "associations": strings.TrimSuffix(prefix, "-") + "db-"})
			a := newRestFacts(t, c.version, answers).facts(nil).Ask(t.Context(), captured2411At)
			if len(a.Bad) > 0 || len(a.Notes) != 1 || !strings.Contains(a.Notes[0].Error(), "shares") {
				t.Errorf("bad %v, notes %v, want one note about shares, of which there is no file", a.Bad, a.Notes)
			}
			f := factsOf(t, a)
			if f.Version != c.release || len(f.Outages) != c.outages {
				t.Errorf("version %q, %d outages, want %q, %d", f.Version, len(f.Outages), c.release, c.outages)
			}
			if d := cmp.Diff(c.limits, f.Limits); d != "" {
				t.Errorf("limits, -want +got:\n%s", d)
			}
			compareNodes(t, f, answers["nodes"], c.gpus)
			comparePartitions(t, f, answers["partitions"])
			compareAccounts(t, f, answers["associations"])
		})
	}
}

// compareNodes compares the nodes of facts with the decoded JSON.
func compareNodes(t *testing.T, f *job.Facts, text string, gpus int) {
	t.Helper()
	var plain struct {
		Nodes []struct {
			CPUs   int      `json:"cpus"`
			Memory int64    `json:"real_memory"`
			State  []string `json:"state"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(text), &plain); err != nil {
		t.Fatal(err)
	}
	type sums struct {
		nodes, down, procs, gpus int
		memory                   int64
	}
	want, got := sums{gpus: gpus}, sums{}
	for _, n := range plain.Nodes {
		want.nodes, want.procs, want.memory = want.nodes+1, want.procs+n.CPUs, want.memory+n.Memory<<20
		if slices.Contains(n.State, "DRAIN") || slices.Contains(n.State, "DOWN") {
			want.down++
		}
	}
	for _, g := range f.Nodes {
		got.nodes, got.down, got.procs = got.nodes+g.Count, got.down+g.Down, got.procs+g.Count*g.Node.Procs
		got.gpus, got.memory = got.gpus+g.Count*g.Node.GPUs, got.memory+int64(g.Count)*g.Node.Memory
	}
	if got != want || got.nodes == 0 {
		t.Errorf("nodes %+v, want %+v", got, want)
	}
}

// comparePartitions compares the queues of facts with the decoded JSON.
func comparePartitions(t *testing.T, f *job.Facts, text string) {
	t.Helper()
	var plain struct {
		Partitions []struct {
			Name     string `json:"name"`
			Maximums struct {
				Time restNumber `json:"time"`
			} `json:"maximums"`
			Defaults struct {
				Memory restNumber `json:"partition_memory_per_cpu"`
			} `json:"defaults"`
		} `json:"partitions"`
	}
	if err := json.Unmarshal([]byte(text), &plain); err != nil {
		t.Fatal(err)
	}
	var want []job.QueueFacts
	for _, p := range plain.Partitions { // nothing else is set in these files
		want = append(want, job.QueueFacts{Name: p.Name, Tier: 1, Factor: 1, ProcMemory: p.Defaults.Memory.Number << 20,
			MaxTime: time.Duration(p.Maximums.Time.Number) * time.Minute})
	}
	slices.SortFunc(want, func(a, b job.QueueFacts) int { return strings.Compare(a.Name, b.Name) })
	if d := cmp.Diff(want, f.Queues); d != "" || len(want) == 0 {
		t.Errorf("partitions, -want +got:\n%s", d)
	}
}

// compareAccounts compares the accounts of facts with the decoded JSON.
func compareAccounts(t *testing.T, f *job.Facts, text string) {
	t.Helper()
	var plain struct {
		Associations []struct{ Account, User, Parent_account string } //nolint:revive,staticcheck // as in the JSON
	}
	if err := json.Unmarshal([]byte(text), &plain); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, a := range plain.Associations {
		want[a.Account+" "+a.User] = a.Parent_account
	}
	for _, a := range f.Accounts {
		got[a.Name+" "] = a.Parent
		for _, user := range a.Users {
			got[a.Name+" "+user] = ""
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(got) < 2 {
		t.Errorf("accounts and users, -want +got:\n%s", d)
	}
}

// TestFactsRestFailures proves that a failure is reported with the queried address and advice, and that the facts stay
// unchanged.
func TestFactsRestFailures(t *testing.T) {
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
			return true
		}
	}
	for _, c := range []struct {
		name, reason string
		says         []string
		change       func(*restFacts)
		timeout      time.Duration
	}{
		{name: "refused", reason: source.FailedExit,
			says:   []string{"401 Unauthorized: Authentication failure", "token_file"},
			change: func(s *restFacts) { s.token = "secret" }},
		{name: "overloaded", reason: source.FailedExit, says: []string{"503", "GET /slurm/v0.0.4", "asked again"},
			change: func(s *restFacts) { s.fail = answer(http.StatusServiceUnavailable, "") }},
		{name: "slurmctld is down", reason: source.FailedExit,
			says: []string{"500", "Unable to contact slurm controller", "slurmctld"}, change: func(s *restFacts) {
				s.fail = answer(http.StatusInternalServerError, `{"meta": {}, "errors": [{"error_number": 1800, `+
					`"description": "", "error": "Unable to contact slurm controller (connect failure)"}]}`)
			}},
		{name: "redirected", reason: source.FailedExit, says: []string{"http://elsewhere/", "not followed"},
			change: func(s *restFacts) {
				s.fail = func(w http.ResponseWriter, r *http.Request) bool {
					http.Redirect(w, r, "http://elsewhere/", http.StatusFound)
					return true
				}
			}},
		{name: "cut off", reason: source.FailedOutput, says: []string{"cut off", "GET /slurm/v0.0.4"},
			change: func(s *restFacts) {
				s.fail = func(w http.ResponseWriter, r *http.Request) bool {
					text := s.answers[filepath.Base(r.URL.Path)]
					_, _ = w.Write([]byte(text[:len(text)/2]))
					return true
				}
			}},
		{name: "connection lost", reason: source.FailedOutput, says: []string{"cut off"}, change: func(s *restFacts) {
			s.fail = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Length", "1000")
				_, _ = w.Write([]byte(`{"nodes": [`))
				return true
			}
		}},
		{name: "not JSON", reason: source.FailedOutput, says: []string{"cannot be read"},
			change: func(s *restFacts) { s.fail = answer(http.StatusOK, "<html>") }},
		{name: "another list", reason: source.FailedOutput, says: []string{"it has no nodes"},
			change: func(s *restFacts) { s.fail = answer(http.StatusOK, `{"jobs": []}`) }},
		{name: "slow", reason: source.FailedTimeout, says: []string{"did not answer in 100ms", "timeout"},
			change: func(s *restFacts) {
				s.fail = func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
			}, timeout: 100 * time.Millisecond},
		{name: "unknown parser", reason: source.FailedExit, says: []string{"v0.0.40 to v0.0.45", "openapi/slurmctld"},
			change: func(s *restFacts) { s.version = "v0.0.38" }},
		{name: "gone", reason: source.FailedStart, says: []string{"cannot be reached", "url"},
			change: func(s *restFacts) { s.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newRestFacts(t, "v0.0.42", captured2411(t))
			timeout := func(cfg *slurm.RestConfig) {
				if c.timeout > 0 {
					cfg.Timeout = c.timeout
				}
			}
			before := factsOf(t, s.facts(nil).Ask(t.Context(), captured2411At))
			again := s.facts(nil)
			if a := again.Ask(t.Context(), captured2411At); a.Err != nil {
				t.Fatal(a.Err)
			}
			c.change(s)
			for name, f := range map[string]*slurm.Facts{"at once": s.facts(before, timeout), "later": again} {
				if name == "later" && c.timeout > 0 {
					continue
				}
				a := f.Ask(t.Context(), captured2411At.Add(time.Hour))
				var call *source.CallError
				if !errors.As(a.Err, &call) || call.Reason != c.reason || len(a.Events) > 0 {
					t.Fatalf("%s: %+v, want an error of reason %s", name, a, c.reason)
				}
				for _, says := range append(c.says, s.URL) {
					if !strings.Contains(a.Err.Error(), says) {
						t.Errorf("%s: %v, want it to say %q", name, a.Err, says)
					}
				}
			}
		})
	}
}

// TestFactsRestPart proves that a part that fails is reported and keeps its earlier facts, while the other parts are
// updated.
func TestFactsRestPart(t *testing.T) {
	s := newRestFacts(t, "v0.0.42", captured2411(t))
	f := s.facts(nil)
	before := factsOf(t, f.Ask(t.Context(), captured2411At))
	delete(s.answers, "qos")
	s.answers["nodes"] = strings.Replace(s.answers["nodes"], `["IDLE","DRAIN"]`, `["IDLE"]`, 1)
	a := f.Ask(t.Context(), captured2411At.Add(time.Hour))
	want := *before
	want.Nodes = slices.Clone(want.Nodes)
	want.Nodes[2].Down, want.Nodes[2].Names = 0, []string{"n03"}
	got := factsOf(t, a)
	got.Outages = want.Outages // the outages, which have continued
	if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if len(a.Notes) != 1 || !strings.Contains(a.Notes[0].Error(), "slurmrestd qos") ||
		!strings.Contains(a.Notes[0].Error(), "openapi/slurmdbd") {
		t.Errorf("notes %v, want one about qos", a.Notes)
	}
}

// TestRestToken proves that the token is read again from its file, either the bare token or the output of scontrol, and
// is sent with the user's name. A file without a token is reported.
func TestRestToken(t *testing.T) {
	s := newRestFacts(t, "v0.0.42", captured2411(t))
	s.token = "first"
	file := filepath.Join(t.TempDir(), "token")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := s.facts(nil, func(cfg *slurm.RestConfig) { cfg.User, cfg.TokenFile = "waitcast", file })
	users := map[string]bool{}
	s.fail = func(_ http.ResponseWriter, r *http.Request) bool {
		users[r.Header.Get("X-SLURM-USER-NAME")] = true
		return false
	}
	for i, c := range []struct{ text, token, says string }{
		{"", "first", "cannot be read"}, {"\n", "first", "holds no token"}, {"two words", "first", "holds no token"},
		{"first\n", "first", ""}, {"first\n", "second", "has the token in " + file + " expired"},
		{"SLURM_JWT=second\n", "second", ""},
	} {
		if c.text != "" {
			put(c.text)
		}
		s.token = c.token
		a := f.Ask(t.Context(), captured2411At.Add(time.Duration(i)*time.Hour))
		if (a.Err != nil) != (c.says != "") || a.Err != nil && (!strings.Contains(a.Err.Error(), c.says) ||
			!strings.Contains(a.Err.Error(), "scontrol token username=waitcast")) {
			t.Errorf("%q for %q: %v, want %q", c.text, c.token, a.Err, c.says)
		}
	}
	if len(users) != 1 || !users["waitcast"] {
		t.Errorf("users %v, want waitcast alone", users)
	}
}

// FuzzFactsRest proves that for any answer of slurmrestd to one of the queries nothing panics, the facts can be written
// as JSON, and the same facts are not reported twice.
func FuzzFactsRest(f *testing.F) {
	lists := []string{"nodes", "reservations", "partitions", "qos", "associations", "shares"}
	f.Add(uint8(1), `{"reservations": [{"name": "a", "start_time": 5, "end_time": {"set": true, "number": 9}, `+
		`"node_list": "n1", "tres": [{"type": "cpu", "count": 3}], "flags": ["MAINT"], "users": "-a,b"}]}`)
	f.Add(uint8(2), `{"partitions": [{"name": "a", "partition": {"state": ["UP"]}, "maximums": {"oversubscribe": `+
		`{"jobs": 2, "flags": ["force"]}, "time": {"infinite": true}}, "accounts": {"allowed": "b,a"}}]}`)
	f.Add(uint8(4), `{"associations": [{"account": "a", "user": "b", "max": {"jobs": {"active": 3}, "tres": {"total": `+
		`[{"type": "gres", "name": "gpu:a100", "count": 0}]}}}, {"account": "a", "parent_account": "root"}]}`)
	f.Add(uint8(5), `{"shares": {"shares": [{"name": "b", "parent": "a", "type": ["USER"], "shares": 2147483647, `+
		`"usage": 4294967294, "fairshare": {"factor": {"set": true, "number": 0.5}, "level": -2}}]}}`)
	f.Add(uint8(0), `{"nodes": [{"name": "a[1-2", "cpus": {"set": true, "number": -1}, "partitions": "x,y"}]}`)
	f.Add(uint8(3), `{"qos": [{"name": null, "limits": {"max": {"tres": {"total": "cpu=1,gres/gpu:=3"}}}}]}`)
	s := newRestFacts(f, "v0.0.42", nil)
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		s.answers = map[string]string{"nodes": `{"meta": {"plugin": {"accounting_storage": ` +
			`"accounting_storage/slurmdbd"}, "slurm": {"release": "x"}}, "nodes": [{"name": "n1", "cpus": 4, ` +
			`"partitions": ["a"]}]}`}
		for _, list := range lists[1:] {
			s.answers[list] = fmt.Sprintf(`{%q: []}`, list)
		}
		s.answers[lists[int(which)%len(lists)]] = text
		facts := s.facts(nil)
		a := facts.Ask(t.Context(), captured2411At)
		if a.Err != nil && len(a.Events) > 0 || a.Err == nil && len(a.Events) != 1 {
			t.Fatalf("%+v", a)
		}
		if a.Err != nil {
			return
		}
		if _, err := json.Marshal(a.Events[0].Facts); err != nil {
			t.Fatal(err)
		}
		if again := facts.Ask(t.Context(), captured2411At); len(again.Events) > 0 || len(again.Bad) > 0 {
			t.Fatalf("the same told twice: %s", fmt.Sprint(again))
		}
	})
}
