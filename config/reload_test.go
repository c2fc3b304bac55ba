package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// wantEffects holds what a reload does with each key that does not shape the state (the others are in stateKeys). Each
// was decided separately:
//   - start: the log's encoder is made once;
//   - access: what the server reads on each request;
//   - listener: the socket, and whether it uses TLS;
//   - sources: which files are read and when, which does not change what the records mean;
//   - restore: where the database is, who may write it, and how long it keeps its data.
var wantEffects = map[Effect][]string{
	EffectNextStart: {"log.format", "socket", "socket_mode"},
	EffectLogLevel:  {"log.level"},
	EffectAccess: {
		"admin_token_file", "tokens_file", "stale_after",
		"access.anonymous", "access.others", "access.users", "access.basic_role", "access.certificate_role",
		"access.admins", "access.origins", "access.hosts", "access.munge", "limits.requests_per_second", "limits.burst",
		"limits.body",
		"limits.expensive", "limits.expensive_waiting",
		"limits.connections", "limits.connections_per_client", "limits.write_timeout", "limits.trusted_proxies",
	},
	EffectListener: {"listen", "web_config_file"},
	EffectSources: {
		"clusters[].sources[].name", "clusters[].sources[].path", "clusters[].sources[].pattern",
		"clusters[].sources[].rotated",
		"clusters[].sources[].start", "clusters[].sources[].poll", "clusters[].sources[].command",
		"clusters[].sources[].socket", "clusters[].sources[].journal", "clusters[].sources[].url",
		"clusters[].sources[].user",
		"clusters[].sources[].token_file", "clusters[].sources[].interval", "clusters[].sources[].timeout",
		"clusters[].sources[].inotify", "clusters[].sources[].clock_offset",
	},
	EffectRestore: {
		"data_dir", "serve_only", "accuracy.retention", "store.path", "store.url", "store.space", "store.lease",
		"store.snapshot_events", "store.snapshot_interval", "store.journal_retention", "history_retention",
		"clusters[].history.files", "clusters[].history.format", "clusters[].history.mode",
	},
	EffectRebuild: stateKeys,
}

// TestPlanReload proves for each key that a change of its value alone gives the plan of its class. It fails for a new
// key without a class, or with another class than in the table.
func TestPlanReload(t *testing.T) {
	want := map[string]Effect{}
	for effect, keys := range wantEffects {
		for _, k := range keys {
			if want[k] != "" {
				t.Errorf("%s is in two classes", k)
			}
			want[k] = effect
		}
	}
	full := func() *Config {
		c := example()
		c.Clusters[0].Pools = []Pool{{Name: "p", Queues: []string{"q"}}}
		return c
	}
	base, changed, seen := full(), full(), map[string]bool{}
	if plan := PlanReload(base, changed); !reflect.DeepEqual(plan, ReloadPlan{}) {
		t.Errorf("the plan of an equal configuration is %+v", plan)
	}
	change(reflect.ValueOf(changed).Elem(), func(f field) {
		plan := PlanReload(base, changed)
		if len(plan.Keys) != 1 || len(plan.Effects) != 1 || !strings.HasSuffix("."+plan.Keys[0], "."+f.name) {
			t.Fatalf("a change of %s alone gives the plan %+v", f.name, plan)
		}
		key := plan.Keys[0]
		if seen[key] = true; plan.Effects[0] != want[key] {
			t.Errorf("a change of %s: %q, want %q", key, plan.Effects[0], want[key])
		}
		if !plan.Has(EffectRestore, want[key]) || plan.Has("other") {
			t.Errorf("a change of %s: Has contradicts %+v", key, plan)
		}
	})
	for _, k := range Reference() {
		if !seen[k.Key] {
			t.Errorf("%s was not changed", k.Key)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d keys were changed, the table has %d", len(seen), len(want))
	}
}

// TestPlanReloadOfLists proves that a list that has become longer or shorter, or has another order, counts as changed,
// and that an empty list equals a missing one. The place from which the configuration was read does not count.
func TestPlanReloadOfLists(t *testing.T) {
	for _, c := range []struct {
		name    string
		edit    func(*Config)
		effects []Effect
	}{
		{"another file", func(c *Config) { c.File = "elsewhere" }, nil},
		{"an empty list in place of none", func(c *Config) { c.Access.Admins = []string{} }, nil},
		{"a source more", func(c *Config) {
			c.Clusters[0].Sources = append(c.Clusters[0].Sources, Source{Format: "lsf-acct"})
		}, []Effect{EffectSources, EffectRebuild}},
		{"a source less", func(c *Config) { c.Clusters[0].Sources = nil }, []Effect{EffectSources, EffectRebuild}},
		{"a queue less", func(c *Config) { c.Clusters[0].Queues = nil }, []Effect{EffectRebuild}},
		{"queues in another order", func(c *Config) { slices.Reverse(c.Clusters[0].Queues) }, []Effect{EffectRebuild}},
		{"a cluster less", func(c *Config) { c.Clusters = c.Clusters[:1] },
			[]Effect{EffectSources, EffectRestore, EffectRebuild}},
		{"several keys", func(c *Config) {
			c.Store.Lease, c.Log.Level, c.Limits.Burst, c.Listen = 1, "warn", 7, ":1"
		}, []Effect{EffectLogLevel, EffectAccess, EffectListener, EffectRestore}},
	} {
		next := example()
		c.edit(next)
		if plan := PlanReload(example(), next); !slices.Equal(plan.Effects, c.effects) ||
			(plan.Keys == nil) != (c.effects == nil) {
			t.Errorf("%s: %+v, want %v", c.name, plan, c.effects)
		}
	}
}

// TestPlanReloadNamesLists proves that a list that has become longer is named once, instead of every key of its
// elements.
func TestPlanReloadNamesLists(t *testing.T) {
	next := example()
	next.Clusters[0].Sources = append(next.Clusters[0].Sources, Source{Format: "lsf-acct"})
	next.Clusters[0].Procs++
	want := []string{"clusters[].procs", "clusters[].sources"}
	if plan := PlanReload(example(), next); !slices.Equal(plan.Keys, want) {
		t.Errorf("%v, want %v", plan.Keys, want)
	}
	next.Clusters = next.Clusters[:1]
	if plan := PlanReload(example(), next); !slices.Equal(plan.Keys, []string{"clusters"}) {
		t.Errorf("%v, want the list of clusters alone", plan.Keys)
	}
}
