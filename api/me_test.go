package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/job"
)

// named returns the events of a job of the secret user, with a job name.
func named(o one, name string) []job.Event {
	events := o.events("main")
	for i := range events {
		events[i].Name = name
	}
	return events
}

// habitual returns a guarded server with a machine of 10 processors. The secret user has run 40 jobs "relax", which
// requested 12 h and ran for 1 to 40 minutes, 20 jobs "full", which ran until their limit of one hour, ten jobs "gone"
// and nine jobs "young". Now a stranger's job has 6 processors for 10 h, and another job waits for 8. Behind it a
// "full" and a "young" job wait for more processors than are free, and a "relax" job for 4 processors is held.
func habitual(t *testing.T) *guarded {
	t.Helper()
	g := guard(t, false, nil)
	begin := g.now.Sub(epoch()).Seconds()
	var events []job.Event
	for id, kind := range map[string]job.Kind{"a": job.End, "b": job.End, "c": job.Cancel, "d": job.Cancel,
		"strange": job.Cancel} {
		events = append(events, job.Event{Kind: kind, Cluster: "main", ID: id, Time: at(begin)})
	}
	run := func(name string, i int, seconds float64, limit time.Duration) {
		events = append(events, named(one{id: fmt.Sprintf("%s%d", name, i), queue: "work", procs: 1, limit: limit,
			submit: begin, start: begin, end: begin + seconds}, name)...)
		begin += seconds
	}
	for i := range 40 {
		run("relax", i, 60*float64(i+1), 12*time.Hour)
	}
	for i := range 20 {
		run("full", i, 3600, time.Hour)
	}
	for i := range 10 {
		run("gone", i, 60, time.Hour)
	}
	for i := range 9 {
		run("young", i, 60, time.Hour)
	}
	for i, o := range []one{
		{id: "big", procs: 6, limit: 10 * time.Hour, start: begin}, {id: "head", procs: 8, limit: time.Hour},
		{id: "relax", procs: 4, limit: 12 * time.Hour}, {id: "full", procs: 8, limit: time.Hour},
		{id: "young", procs: 10},
	} {
		o.queue, o.submit, o.end = "work", begin+float64(i), -1
		if o.start == 0 {
			o.start = -1
		}
		waits := named(o, o.id)
		if i < 2 {
			for k := range waits {
				waits[k].User = "stranger"
			}
		}
		events = append(events, waits...)
	}
	events = append(events, job.Event{Kind: job.Hold, Cluster: "main", ID: "relax", Time: at(begin + 4)})
	g.feed("main", events...)
	g.now = at(begin + 60)
	return g
}

// me requests the caller's own jobs and habits.
func (g *guarded) me(path, credential string) wire.Me {
	g.Helper()
	resp, body := g.ask(http.MethodGet, question{path: path}, credential)
	var out wire.Me
	if err := json.Unmarshal([]byte(body), &out); err != nil || resp.status != http.StatusOK {
		g.Fatalf("GET %s: %d, %v: %s", path, resp.status, err, body)
	}
	return out
}

// TestMe proves that a user gets the user's own waiting jobs with names, and the habits of these names: quantiles of
// the runs, the shortest round limit that would have been long enough for nearly all runs, and how much sooner a job
// would start now with that limit.
func TestMe(t *testing.T) {
	g := habitual(t)
	m := g.me("/v1/me", userToken)
	ids := []string{}
	for _, j := range m.Jobs {
		ids = append(ids, j.ID)
		if j.User != secret {
			t.Errorf("job %+v is listed", j)
		}
	}
	if m.User != secret || m.Cluster != "main" || fmt.Sprint(ids) != "[relax full young]" || m.Waiting != 3 ||
		m.RunningJobs != 0 {
		t.Errorf("me: %+v, jobs %v", m, ids)
	}
	if len(m.Habits) != 3 || m.Habits[0].Name != "young" || m.Habits[1].Name != "full" || m.Habits[2].Name != "relax" {
		t.Fatalf("habits %+v", m.Habits)
	}
	if h := m.Habits[0]; h.Runs != 9 || h.RuntimeSeconds != nil || h.Shorter != nil || h.Text == "" {
		t.Errorf("a name with 9 runs: %+v", h)
	}
	if h := m.Habits[1]; h.Runs != 20 || h.ReachedLimit != 20 || *h.RuntimeSeconds.P50 != 3600 || h.Shorter != nil ||
		h.Text != "20 of your last 20 full jobs reached their time limit: they may have been cut off" {
		t.Errorf("a name whose jobs reach their limits: %+v", h)
	}
	h := m.Habits[2]
	if h.Runs != 40 || h.Queue != "work" || h.Procs != 4 || h.TimeLimitSeconds != 12*3600 || h.ReachedLimit != 0 ||
		*h.RuntimeSeconds.P90 != 36*60 || h.Shorter == nil || h.Shorter.TimeLimitSeconds != 3600 ||
		h.Shorter.Enough != 1 {
		t.Fatalf("relax: %+v, shorter %+v", h, h.Shorter)
	}
	want := "90 % of your relax jobs end within 35 min of the 12 h that you ask; asking for 1 h "
	if !strings.HasPrefix(h.Text, want) {
		t.Errorf("relax: %s", h.Text)
	}
	if m.OtherNames != 1 { // gone is counted; young has too few runs
		t.Errorf("%d other names, want 1", m.OtherNames)
	}
	m = g.me("/v1/me?name=gone&limit=1&offset=1", userToken)
	if len(m.Habits) != 4 || m.Habits[0].Name != "gone" || m.Habits[0].Queue != "" || m.Habits[0].Runs != 10 ||
		m.Habits[0].Shorter == nil || m.Habits[0].Shorter.WaitSeconds != nil || m.OtherNames != 0 {
		t.Errorf("by name: %+v", m.Habits)
	}
	if len(m.Jobs) != 1 || m.Jobs[0].ID != "full" || m.Waiting != 3 || m.NextOffset == nil || *m.NextOffset != 2 {
		t.Errorf("a page of jobs: %+v", m)
	}
}

// TestMeShorterStartsSooner checks the gain of a shorter limit. 4 processors are free for ten hours. A job of 4
// processors with a limit of an hour fits into this time; one with a limit of 40 hours does not. The forecast of the
// shorter limit equals that of GET /v1/wait.
func TestMeShorterStartsSooner(t *testing.T) {
	f := blocked(t)
	begin := f.now.Sub(epoch()).Seconds()
	for i := range leastRuns {
		from := begin + float64(i)*30
		f.feed("main", named(one{id: fmt.Sprint("relax", i), queue: "work", procs: 1, limit: 40 * time.Hour,
			submit: from, start: from, end: from + 20}, "relax")...)
	}
	f.now = at(begin + leastRuns*30)
	f.feed("main", job.Event{Kind: job.Update, Cluster: "main", ID: "next", Time: f.now,
		Attributes: job.Attributes{Name: "relax"}})
	a := f.do(http.MethodGet, "/v1/me?user="+secret, http.Header{"Authorization": {"Bearer " + adminToken}})
	var m wire.Me
	if err := json.Unmarshal(a.body, &m); err != nil || len(m.Habits) != 1 || m.Habits[0].Shorter == nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	h, s := m.Habits[0], m.Habits[0].Shorter
	asker := "&user=" + secret + "&account=" + secret
	long := f.wait("queue=work&procs=4&time_limit=40:00:00" + asker)
	short := f.wait(fmt.Sprintf("queue=work&procs=4&time_limit=%.0f", s.TimeLimitSeconds) + asker)
	if s.TimeLimitSeconds != 300 || s.WaitSeconds == nil ||
		math.Abs(*s.WaitSeconds.P50-*short.WaitSeconds.P50) > .1 {
		t.Errorf("shorter: %+v, GET /v1/wait says %s", s, show(short.WaitSeconds.P50))
	}
	gain, medians := *s.GainSeconds, *long.WaitSeconds.P50-*short.WaitSeconds.P50
	if medians < 600 || gain < medians/2 || gain > 2*medians || *s.Probability < .8 {
		t.Errorf("gain %v with probability %v, the medians differ by %v", gain, *s.Probability, medians)
	}
	if want := fmt.Sprintf("; asking for 5 min would start about %s sooner (probability %.2f)",
		duration.About(time.Duration(gain)*time.Second), *s.Probability); !strings.HasSuffix(h.Text, want) {
		t.Errorf("%s, want %s", h.Text, want)
	}
}

// leastRuns is the number of runs that a habit needs.
const leastRuns = 10

// TestMeIsForOneself proves which callers are refused. The refusal says how a caller can be identified.
func TestMeIsForOneself(t *testing.T) {
	g := habitual(t)
	for _, c := range []struct {
		path, credential string
		status           int
		says             string
	}{
		{"/v1/me", "", http.StatusUnauthorized, "Unix socket"},
		{"/v1/me?user=" + secret, "", http.StatusUnauthorized, "Unix socket"},
		{"/v1/me?user=" + secret, otherToken, http.StatusForbidden, "needs the role admin"},
		{"/v1/me", managerToken, http.StatusUnprocessableEntity, `"parameter":"user"`},
		{"/v1/me?limit=0", userToken, http.StatusUnprocessableEntity, `"parameter":"limit"`},
	} {
		if resp, body := g.ask(http.MethodGet, question{path: c.path}, c.credential); resp.status != c.status ||
			!strings.Contains(body, c.says) || strings.Contains(body, "relax") {
			t.Errorf("%s with %q: %d %s", c.path, c.credential, resp.status, body)
		}
	}
	if m := g.me("/v1/me?name=relax", otherToken); m.User != "nobody" || len(m.Jobs) != 0 || m.Habits[0].Runs != 0 {
		t.Errorf("another user: %+v", m)
	}
	if m := g.me("/v1/me?user="+secret, managerToken); m.User != secret || len(m.Jobs) != 3 {
		t.Errorf("for the manager: %+v", m)
	}
	open := guard(t, false, func(o *access.Options) { o.Policy.OthersAuto, o.Policy.Others = false, access.Public })
	if resp, body := open.ask(http.MethodGet, question{path: "/v1/me"}, ""); resp.status != http.StatusUnauthorized {
		t.Errorf("where everybody sees all: %d %s", resp.status, body)
	}
}
