package config

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/waitcast/waitcast/internal/duration"
	"github.com/waitcast/waitcast/internal/memsize"
)

// Validate checks the values. It returns an *Error for each invalid value, joined. Load checks the values too, and
// adds files and lines to the errors. Validate is for a Config that Load did not return.
func (c *Config) Validate() error {
	p := newProblems()
	c.check(p)
	return p.err()
}

// check reports every invalid value to p.
func (c *Config) check(p *problems) {
	k := checker{p}
	k.enums("", reflect.ValueOf(c).Elem())
	k.require("listen", isAddress(c.Listen), "%q is not an address", c.Listen)
	mode, err := strconv.ParseUint(c.SocketMode, 8, 32)
	k.require("socket_mode", err == nil && mode >= 0o600 && mode <= 0o777 || c.Socket == "", "%q is out of range",
		c.SocketMode)
	k.require("socket", c.Socket == "" || filepath.IsAbs(c.Socket), "%q does not begin with /", c.Socket)
	k.require("data_dir", c.DataDir != "",
		"is not set, and neither $STATE_DIRECTORY, $XDG_STATE_HOME nor $HOME tells where to keep data")
	k.require("stale_after", c.StaleAfter > 0, "%s is out of range", duration.String(c.StaleAfter))
	k.require("history_retention", c.HistoryRetention >= 24*time.Hour, "%s is out of range",
		duration.String(c.HistoryRetention))
	k.access(c.Access)
	k.limits(c.Limits)
	if !c.ServeOnly || len(c.Clusters) > 0 {
		k.clusters(c.Clusters)
	}
	k.require("serve_only", !c.ServeOnly || c.Store.URL != "",
		"is on, but store.url is not set: without a shared database there is nothing to serve")
	k.models(c.Models)
	k.require("accuracy.retention", c.Accuracy.Retention >= 24*time.Hour, "%s is out of range",
		duration.String(c.Accuracy.Retention))
	k.store(c.Store, c.Models, c.DataDir != "")
}

// checker reports invalid values, with the values that the key's tags allow.
type checker struct{ *problems }

// require reports a problem with key unless ok is true.
func (k checker) require(key string, ok bool, format string, args ...any) {
	if !ok {
		k.found(key, fmt.Sprintf(format, args...), allowedFor(key), nil)
	}
}

// between reports a value that is not in [low, high].
func (k checker) between(key string, value, low, high int) {
	k.require(key, low <= value && value <= high, "%d is out of range", value)
}

// listPosition matches the list positions in a key. The name of a key in the reference has no positions.
var listPosition = regexp.MustCompile(`\[\d+\]`)

// allowedFor returns the text of the reference about the allowed values of a key. It returns "" for an unknown key.
func allowedFor(key string) string {
	name := listPosition.ReplaceAllString(key, "[]")
	for _, r := range Reference() {
		if r.Key == name || r.Key+"[]" == name {
			return r.Allowed
		}
	}
	return ""
}

// enums checks every string that has a fixed set of values.
func (k checker) enums(prefix string, v reflect.Value) {
	for _, f := range fieldsOf(v.Type()) {
		key, value := prefix+f.name, v.FieldByIndex(f.Index)
		switch {
		case f.isGroup():
			k.enums(key+".", value)
		case f.isList():
			for i := range value.Len() {
				k.enums(fmt.Sprintf("%s[%d].", key, i), value.Index(i))
			}
		case f.Tag.Get("enum") != "":
			known := strings.Split(f.Tag.Get("enum"), ",")
			problem := "is not set"
			if text := value.String(); text != "" {
				problem = fmt.Sprintf("%q is not known", text)
				if n := nearest(text, known); n != "" {
					problem += fmt.Sprintf(", did you mean %q?", n)
				}
			}
			k.require(key, slices.Contains(known, value.String()), "%s", problem)
		}
	}
}

func isAddress(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// nameShape matches valid names of clusters and sources. These names are part of addresses, metrics and file names.
var nameShape = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// spaceShape matches valid names of spaces.
var spaceShape = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)

// maxProcs is the maximum number of processors. It is far above the largest machine, and so small that sums of sizes
// cannot overflow.
const maxProcs = 100_000_000

func (k checker) clusters(clusters []Cluster) {
	if len(clusters) == 0 {
		k.found("clusters", "no cluster is configured",
			"a list with at least one cluster in the file that --config names, or --path FILE --format FORMAT", nil)
	}
	names := map[string]int{}
	for i, c := range clusters {
		key := fmt.Sprintf("clusters[%d]", i)
		k.name(key+".name", c.Name, names, i)
		k.between(key+".procs", c.Procs, 0, maxProcs)
		_, err := time.LoadLocation(c.TimeZone)
		k.require(key+".time_zone", c.TimeZone != "" && err == nil, "%q is not a time zone known here", c.TimeZone)
		queues := map[string]bool{}
		for j, q := range c.Queues {
			at := fmt.Sprintf("%s.queues[%d].name", key, j)
			k.require(at, q.Name != "", "is not set")
			k.require(at, !queues[q.Name], "%q is there twice", q.Name)
			queues[q.Name] = true
		}
		k.pools(key+".pools", c.Pools)
		for j, pattern := range c.History.Files {
			k.require(fmt.Sprintf("%s.history.files[%d]", key, j), isPattern(pattern),
				"%q is not a pattern of file names", pattern)
		}
		k.sources(key+".sources", c.Sources)
	}
}

func (k checker) pools(key string, pools []Pool) {
	names, queues := map[string]int{}, map[string]bool{}
	for i, p := range pools {
		at := fmt.Sprintf("%s[%d]", key, i)
		k.name(at+".name", p.Name, names, i)
		k.require(at+".queues", len(p.Queues) > 0, "is not set")
		for j, q := range p.Queues {
			k.require(fmt.Sprintf("%s.queues[%d]", at, j), q != "" && !queues[q], "%q is empty or there twice", q)
			queues[q] = true
		}
		k.between(at+".procs", p.Procs, 0, maxProcs)
		k.between(at+".nodes", p.Nodes, 0, maxProcs)
		k.between(at+".gpus", p.GPUs, 0, maxProcs)
		if p.Memory != "" {
			_, err := memsize.Parse(p.Memory)
			k.require(at+".memory", err == nil, "%q is not an amount of memory", p.Memory)
		}
		given := map[string]bool{"auto": true, "procs": true, "nodes": p.Nodes > 0, "gpus": p.GPUs > 0,
			"memory": p.Memory != ""}
		known, ok := given[p.Binds]
		k.require(at+".binds", known || !ok, "is %s, but how much of it the pool has is not given", p.Binds)
	}
}

// name checks a name that must be unique. taken maps the earlier names to their positions.
func (k checker) name(key, name string, taken map[string]int, position int) {
	if name == "" {
		k.require(key, false, "is not set")
		return
	}
	k.require(key, nameShape.MatchString(name), "%q is not a name", name)
	other, twice := taken[name]
	k.require(key, !twice, "%q is the name of number %d too (counting from 0); give each its own", name, other)
	taken[name] = position
}

// reservedSource is the name of the source of imported logs.
const reservedSource = "import"

func (k checker) sources(key string, sources []Source) {
	if len(sources) == 0 {
		k.found(key, "no source is configured", "a list with at least one source", nil)
	}
	names, files, polled := map[string]int{}, map[[2]string]bool{}, map[string]bool{}
	for i, s := range sources {
		at := fmt.Sprintf("%s[%d]", key, i)
		if s.Name != "" || s.Format != "" { // a missing format is reported once, and not as a missing name too
			k.name(at+".name", s.Name, names, i)
		}
		k.require(at+".name", s.Name != reservedSource, "%q is the name of imported logs", s.Name)
		if s.IsPolled() {
			k.polled(at, s, polled[s.Format])
			polled[s.Format] = true
			continue
		}
		k.require(at+".command", len(s.Command) == 0, "is set, but a log of format %s is read, not asked", s.Format)
		for _, c := range [...]struct{ name, value string }{
			{"socket", s.Socket}, {"url", s.URL}, {"user", s.User}, {"token_file", s.TokenFile},
		} {
			k.require(at+"."+c.name, c.value == "", "is set, but a log of format %s is read, not asked", s.Format)
		}
		k.journal(at, s)
		if len(s.Journal) > 0 {
			continue
		}
		k.require(at+".path", s.Path != "", "is not set")
		id := [2]string{filepath.Clean(s.Path), s.Pattern}
		k.require(at+".path", !files[id], "%q is read by another source of this cluster", s.Path)
		files[id] = true
		k.require(at+".pattern", isPattern(s.Pattern) && !strings.ContainsRune(s.Pattern, '/'),
			"%q is not a pattern of file names", s.Pattern)
		for j, r := range s.Rotated {
			k.require(fmt.Sprintf("%s.rotated[%d]", at, j), isPattern(r), "%q is not a pattern of file names", r)
		}
		_, err := s.Offset()
		k.require(at+".clock_offset", err == nil, "%q is not an offset", s.ClockOffset)
		k.require(at+".poll", 10*time.Millisecond <= s.Poll && s.Poll <= time.Hour, "%s is out of range",
			duration.String(s.Poll))
	}
}

// polled checks a polled source. twice is true if the cluster has another source with the same format.
func (k checker) polled(at string, s Source, twice bool) {
	k.require(at+".format", !twice, "%s is there twice: the scheduler of a cluster is asked by one source", s.Format)
	k.require(at+".path", s.Path == "", "is set, but %s reads no file", s.Format)
	k.require(at+".journal", len(s.Journal) == 0, "is set, but %s reads no journal", s.Format)
	k.require(at+".clock_offset", s.ClockOffset == clockAuto || s.ClockOffset == "",
		"is set, but the times of %s are not corrected", s.Format)
	if s.Format == FormatPBSFacts || s.Format == FormatGridEngineFacts || s.Format == FormatQstat {
		k.require(at+".socket", s.Socket == "", "is set, but %s does not ask slurmrestd", s.Format)
		k.require(at+".url", s.URL == "", "is set, but %s does not ask slurmrestd", s.Format)
	}
	k.slurmrestd(at, s)
	for i, word := range s.Command {
		k.require(fmt.Sprintf("%s.command[%d]", at, i), word != "" || i > 0, "is empty")
	}
	k.require(at+".interval", time.Second <= s.Interval && s.Interval <= time.Hour, "%s is out of range",
		duration.String(s.Interval))
	k.require(at+".timeout", 100*time.Millisecond <= s.Timeout && s.Timeout <= 10*time.Minute, "%s is out of range",
		duration.String(s.Timeout))
}

// journal checks the keys that select the entries of systemd's journal.
func (k checker) journal(at string, s Source) {
	k.require(at+".journal", len(s.Journal) == 0 || s.Format == FormatLog,
		"is set, but a log of format %s is not read from a journal", s.Format)
	for i, match := range s.Journal {
		field, value, ok := strings.Cut(match, "=")
		k.require(fmt.Sprintf("%s.journal[%d]", at, i), match == "+" || ok && value != "" && isField(field),
			"%q is not FIELD=value", match)
	}
	if len(s.Journal) == 0 {
		return
	}
	k.require(at+".rotated", len(s.Rotated) == 0, "is set, but a journal is read")
	k.require(at+".clock_offset", s.ClockOffset == clockAuto || s.ClockOffset == "", "is set, but a journal is read")
}

// isField reports whether a text is the name of a field of the journal: capital letters, digits and _.
func isField(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// slurmrestd checks the keys for the address and the user of slurmrestd.
func (k checker) slurmrestd(at string, s Source) {
	k.require(at+".socket", s.Socket == "" || len(s.Command) == 0, "is set, and so is command: one of the two is asked")
	k.require(at+".url", s.URL == "" || len(s.Command) == 0, "is set, and so is command: one of the two is asked")
	k.require(at+".url", s.URL == "" || s.Socket == "", "is set, and so is socket: one of the two is asked")
	u, err := url.Parse(s.URL)
	k.require(at+".url", s.URL == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") &&
		u.Hostname() != "" && u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "",
		"%q is not http://HOST:PORT or https://HOST:PORT", s.URL)
	k.require(at+".token_file", s.URL == "" || s.TokenFile != "", "is not set, but slurmrestd at a url wants a token")
	k.require(at+".token_file", s.TokenFile == "" || s.Rest(), "is set, but neither socket nor url is")
	k.require(at+".user", s.User == "" || s.TokenFile != "", "is set, but token_file is not")
	k.require(at+".user", !strings.ContainsFunc(s.User, unicode.IsControl), "%q is no name of a user", s.User)
}

func isPattern(pattern string) bool {
	_, err := filepath.Match(pattern, "")
	return err == nil && pattern != ""
}

func (k checker) models(m Models) {
	k.between("models.window_jobs", m.WindowJobs, 10, 10_000_000)
	k.require("models.window_age", m.WindowAge >= time.Hour, "%s is out of range", duration.String(m.WindowAge))
	k.between("models.history_jobs", m.HistoryJobs, 0, 10_000_000)
	k.between("models.max_queues", m.MaxQueues, 1, 10_000)
	k.between("models.max_users", m.MaxUsers, 64, 1_000_000)
	k.require("models.forget_after", m.ForgetAfter >= 24*time.Hour, "%s is out of range",
		duration.String(m.ForgetAfter))
	k.between("models.min_samples", m.MinSamples, 2, max(m.WindowJobs, 10))
	k.require("models.markov_forget", 0 <= m.MarkovForget && m.MarkovForget < 1, "%v is out of range", m.MarkovForget)
}

// store checks the store. If the data folder is unknown, the path of the store is unknown too; this is reported for
// the data folder.
func (k checker) store(s Store, m Models, haveDir bool) {
	k.require("store.path", s.Path != "" || !haveDir, "is not set")
	k.require("store.space", s.Space == "" || s.URL != "",
		"is set, but store.url is not: a database file is one daemon's")
	k.require("store.space", s.Space == "" || spaceShape.MatchString(s.Space), "%q is not a name of a space", s.Space)
	k.require("store.lease", time.Second <= s.Lease && s.Lease <= 10*time.Minute, "%s is out of range",
		duration.String(s.Lease))
	k.require("store.snapshot_events", s.SnapshotEvents >= 1, "%d is out of range", s.SnapshotEvents)
	k.require("store.snapshot_interval", s.SnapshotInterval >= time.Second, "%s is out of range",
		duration.String(s.SnapshotInterval))
	k.require("store.journal_retention", s.JournalRetention >= m.WindowAge,
		"%s is less than models.window_age (%s): a rebuilt model would miss jobs",
		duration.String(s.JournalRetention), duration.String(m.WindowAge))
}
