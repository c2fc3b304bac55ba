package config

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stateKeys are the keys that shape the state. Each was decided separately. These keys are not among them:
//   - where things are and what they are called (data_dir, store.path, sources' name and path): the same records from
//     elsewhere are the same records;
//   - which files are read and from where on (pattern, rotated, start): these keys decide which records come, not what
//     those records mean;
//   - when things are done (poll, inotify, snapshots) or reported (stale_after, log, listen);
//   - who may ask, and how much (tokens_file, web_config_file, access, limits);
//   - accuracy.retention: it drops old rows of the ledger, from which no state is built;
//   - journal_retention: it drops old events, and the remaining ones give the same state as before.
var stateKeys = []string{
	"clusters[].name", "clusters[].procs", "clusters[].policy", "clusters[].time_zone", "clusters[].queues[].name",
	"clusters[].pools[].name", "clusters[].pools[].queues", "clusters[].pools[].procs", "clusters[].pools[].nodes",
	"clusters[].pools[].gpus", "clusters[].pools[].memory", "clusters[].pools[].policy", "clusters[].pools[].binds",
	"clusters[].sources[].format",
	"models.window_jobs", "models.window_age", "models.min_samples", "models.markov_forget", "models.max_queues",
	"models.max_users", "models.forget_after", "models.history_jobs",
}

// TestReferenceIsComplete proves that every key has an explicit reload effect, a description, and a default that can be
// parsed as its type.
func TestReferenceIsComplete(t *testing.T) {
	var state []string
	seen := map[string]bool{}
	for _, k := range Reference() {
		if k.Effect == EffectRebuild {
			state = append(state, k.Key)
		}
		if k.Doc == "" || k.Allowed == "" || k.Type == "" {
			t.Errorf("%+v lacks words", k)
		}
		if k.Env != "" && seen[k.Env] {
			t.Errorf("%s is the variable of two keys", k.Env)
		}
		seen[k.Env] = true
	}
	if !slices.Equal(state, stateKeys) {
		t.Errorf("keys that shape state:\n%v\nwant\n%v", state, stateKeys)
	}
	leaves(t, reflect.TypeFor[Config](), func(f field) {
		if !slices.Contains(Effects(), f.effect()) {
			t.Errorf("%s: what does a reload do when it has changed? tag reload:%q", f.name, f.effect())
		}
		if text, ok := f.Tag.Lookup("default"); ok {
			if _, err := parseText(f.Type, text); err != nil {
				t.Errorf("%s: default: %v", f.name, err)
			}
		}
	})
	for _, f := range fieldsOf(reflect.TypeFor[oneSource]()) {
		if seen[envName(f.name)] {
			t.Errorf("%s is the variable of a key too", envName(f.name))
		}
	}
}

// leaves calls visit for every field that is a value. An exported struct field that is not a key is an error.
func leaves(t *testing.T, typ reflect.Type, visit func(field)) {
	t.Helper()
	for i := range typ.NumField() {
		if typ.Field(i).Tag.Get("key") == "" {
			t.Errorf("%v.%s is neither a key nor marked as none", typ, typ.Field(i).Name)
		}
	}
	for _, f := range fieldsOf(typ) {
		switch {
		case f.isGroup():
			leaves(t, f.Type, visit)
		case f.isList():
			leaves(t, f.Type.Elem(), visit)
		default:
			visit(f)
		}
	}
}

func example() *Config {
	return &Config{
		Clusters: []Cluster{
			{Name: "a", Procs: 1, TimeZone: "UTC", Queues: []Queue{{"q"}, {"r"}},
				Sources: []Source{{Format: "pbs"}, {Format: "swf"}}},
			{Name: "b", Procs: 2, TimeZone: "Local"},
		},
		Models: Models{WindowJobs: 1, WindowAge: time.Hour, MinSamples: 3, MarkovForget: 0.5, MaxQueues: 9,
			HistoryJobs: 7},
	}
}

// TestFingerprintFollowsTheMarks proves that a change of a key changes the fingerprint exactly if the key is marked as
// one on which the state depends.
func TestFingerprintFollowsTheMarks(t *testing.T) {
	base := example().Fingerprint()
	if len(base) != 64 || base != example().Fingerprint() {
		t.Fatalf("not stable: %q", base)
	}
	c := example()
	visited := 0
	change(reflect.ValueOf(c).Elem(), func(f field) {
		visited++
		if got := c.Fingerprint() != base; got != f.shapesState() {
			t.Errorf("a change of %s changes the fingerprint: %v, want %v", f.name, got, f.shapesState())
		}
	})
	if visited < len(Reference()) {
		t.Errorf("%d values were changed, of %d keys", visited, len(Reference()))
	}
	c.File = "elsewhere"
	if c.Fingerprint() != base {
		t.Error("the file's name must not count")
	}
}

// change replaces each value in turn by another one, calls then, and restores the value.
func change(v reflect.Value, then func(field)) {
	for _, f := range fieldsOf(v.Type()) {
		value := v.FieldByIndex(f.Index)
		switch {
		case f.isGroup():
			change(value, then)
			continue
		case f.isList():
			for i := range value.Len() {
				change(value.Index(i), then)
			}
			continue
		}
		old := reflect.New(value.Type()).Elem()
		old.Set(value)
		switch value.Kind() {
		case reflect.String:
			value.SetString(value.String() + "x")
		case reflect.Int, reflect.Int64:
			value.SetInt(value.Int() + 1)
		case reflect.Float64:
			value.SetFloat(math.Nextafter(value.Float(), 1))
		case reflect.Bool:
			value.SetBool(!value.Bool())
		case reflect.Slice:
			value.Set(reflect.ValueOf([]string{"x"}))
		}
		then(f)
		value.Set(old)
	}
}

func TestFingerprintAndOrder(t *testing.T) {
	base := example().Fingerprint()
	c := example()
	slices.Reverse(c.Clusters)
	slices.Reverse(c.Clusters[1].Queues)
	if c.Fingerprint() != base {
		t.Error("the order of clusters and queues must not count")
	}
	slices.Reverse(c.Clusters[1].Sources)
	if c.Fingerprint() == base {
		t.Error("the order of sources must count")
	}
	c = example()
	c.Clusters[0].Queues = []Queue{{"q"}}
	c.Clusters[1].Queues = []Queue{{"r"}}
	if c.Fingerprint() == base {
		t.Error("a queue that moves to another cluster must count")
	}
}

// TestOffsetsTellZonesApart proves that zones are compared by their offsets, not by their names, so that the zone Local
// equals the named zone of the host.
func TestOffsetsTellZonesApart(t *testing.T) {
	stockholm, err := time.LoadLocation("Europe/Stockholm")
	if err != nil {
		t.Skipf("zone database missing: %v", err)
	}
	if offsets(stockholm) == offsets(time.FixedZone("", 3600)) || offsets(time.UTC) == offsets(stockholm) {
		t.Error("zones that differ in summer or at all have the same offsets")
	}
	if offsets(time.UTC) != offsets(time.FixedZone("UTC by another name", 0)) {
		t.Error("the zone's name counts")
	}
}

// TestDistance checks reference values: 3 for kitten/sitting, Levenshtein's textbook pair, and 2 for flaw/lawn. It also
// checks the axioms of a distance.
func TestDistance(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"kitten", "sitting"}: 3, {"flaw", "lawn"}: 2, {"", "abc"}: 3, {"abc", ""}: 3, {"abc", "abc"}: 0,
	} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("distance%q = %d, want %d", pair, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab := distance(a, b)
		if (ab == 0) != (a == b) || ab != distance(b, a) || ab > distance(a, c)+distance(c, b) {
			t.Fatalf("distance(%q, %q) = %d breaks a law with %q", a, b, ab, c)
		}
	})
}
