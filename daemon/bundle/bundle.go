// Package bundle collects data about a daemon, from which people outside the site diagnose a problem. A bundle has
// numbers and settings, but no names of users, accounts, jobs or hosts.
package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon/check"
)

// Options define the contents of a bundle.
type Options struct {
	// Version is the version of the program.
	Version string
	// URL is the address of the daemon; empty means the address in the configuration.
	URL string
	// If Goroutines is true, the stacks of the daemon's goroutines are included.
	Goroutines bool
	// Now returns the wall-clock time; nil means time.Now.
	Now func() time.Time
}

// gatherer collects the files of one bundle.
type gatherer struct {
	opts  Options
	mask  *masker
	files map[string][]byte
	// notes list the parts that are missing. Of an error a note has only the kind, because the error's text may contain
	// names of hosts and people.
	notes []string
}

// Manifest describes a bundle: when and by which build it was made, and what is missing in it (Notes).
type Manifest struct {
	Made    time.Time         `json:"made"`
	Version string            `json:"version"`
	Go      string            `json:"go"`
	Build   map[string]string `json:"build"`
	Modules map[string]string `json:"modules"`
	Notes   []string          `json:"notes"`
}

// Write writes a bundle, which is a gzipped tar archive, and returns the notes of the bundle. If the daemon does not
// answer or the configuration cannot be read, that is not an error but a note.
func Write(ctx context.Context, to io.Writer, cfg *config.Config, cfgErr error, opts Options) ([]string, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	g := &gatherer{opts: opts, mask: newMasker(), files: map[string][]byte{}}
	g.host()
	if cfgErr != nil {
		g.broken(cfgErr)
	} else {
		g.put("configuration.json", g.mask.configuration(cfg))
		g.check(ctx, cfg)
		g.store(cfg)
		g.daemon(ctx, cfg)
	}
	g.manifest()
	return g.notes, g.archive(to)
}

func (g *gatherer) note(format string, args ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

// put adds a JSON file.
func (g *gatherer) put(name string, v any) {
	content, err := indented(v)
	if err != nil {
		g.note("%s: cannot be written", name)
		return
	}
	g.files[name] = content
}

// broken records the keys and lines at which a configuration is wrong, without the text there.
func (g *gatherer) broken(err error) {
	type place struct {
		Line int    `json:"line"`
		Key  string `json:"key"`
	}
	places := []place{}
	known := map[string]bool{}
	for _, r := range config.Reference() {
		known[r.Key] = true
	}
	for _, e := range flatten(err) {
		var wrong *config.Error
		if !errors.As(e, &wrong) {
			continue
		}
		key := listPosition(wrong.Key)
		if !known[key] {
			key = masked // mask the key, because an unknown key may be any text
		}
		places = append(places, place{wrong.Line, key})
	}
	g.note("errors in the configuration: %d; the daemon was not queried", len(places))
	g.put("configuration-errors.json", places)
}

// listPosition removes the numbers from a key: it returns clusters[].name for clusters[0].name.
func listPosition(key string) string {
	var b strings.Builder
	inside := false
	for _, r := range key {
		if r == ']' {
			inside = false
		}
		if !inside {
			b.WriteRune(r)
		}
		if r == '[' {
			inside = true
		}
	}
	return b.String()
}

func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // the joined error itself
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}

// harmless reports whether the texts of findings with this ID consist only of numbers, sizes, instants and the
// program's own words.
func harmless(id string) bool {
	return slices.Contains([]string{
		"cluster.time_zone", "log.lines", "log.time", "store.space", "store.damaged", "machine.clock",
		"machine.inotify", "machine.memory", "cluster.procs", "cluster.time_limit", "cluster.size",
	}, id)
}

// check adds the findings of waitcastd check, without lines of logs and without the output of other programs.
func (g *gatherer) check(ctx context.Context, cfg *config.Config) {
	r := check.Run(ctx, cfg,
		check.Options{Version: g.opts.Version, Records: 20_000, Limit: 5 * time.Second, Now: g.opts.Now})
	type finding struct {
		ID     string       `json:"id"`
		Status check.Status `json:"status"`
		About  string       `json:"about"`
		Text   string       `json:"text,omitempty"`
	}
	findings := []finding{}
	for _, f := range r.Findings {
		out := finding{ID: f.ID, Status: f.Status, About: f.About}
		switch kind, name, _ := strings.Cut(f.About, " "); kind {
		case "source":
			out.About = kind + " " + g.mask.source(name)
		case "cluster":
			out.About = kind + " " + g.mask.name("cluster", name)
		case "user":
			out.About = kind
		}
		if harmless(f.ID) {
			out.Text = f.Text
		}
		findings = append(findings, out)
	}
	sources := []check.Source{}
	for _, s := range r.Sources {
		s.Name, s.Cluster = g.mask.source(s.Name), g.mask.name("cluster", s.Cluster)
		s.Files = slices.Clone(s.Files)
		for i := range s.Files {
			s.Files[i].Path = g.mask.path(s.Files[i].Path)
		}
		s.Bad = slices.Clone(s.Bad)
		for i := range s.Bad {
			s.Bad[i].Examples = nil
		}
		s.Queues = g.queues(s.Queues)
		sources = append(sources, s)
	}
	clusters := []check.Cluster{}
	for _, c := range r.Clusters {
		c.Name = g.mask.name("cluster", c.Name)
		c.Unseen, c.Unconfigured = g.queues(c.Unseen), g.queues(c.Unconfigured)
		clusters = append(clusters, c)
	}
	g.put("check.json", map[string]any{"findings": findings, "sources": sources, "clusters": clusters,
		"failures": r.Failures, "warnings": r.Warnings})
}

func (g *gatherer) queues(names []string) []string {
	out := []string{}
	for _, name := range names {
		out = append(out, g.mask.name("queue", name))
	}
	return out
}

// host adds facts about the machine: its kernel, processors, memory, load and time zone, and the limits of the control
// group.
func (g *gatherer) host() {
	facts := map[string]any{"cpus": runtime.NumCPU(), "system": runtime.GOOS + "/" + runtime.GOARCH}
	var u syscall.Utsname
	if err := syscall.Uname(&u); err == nil {
		facts["kernel"] = utsname(u.Release[:]) // the Nodename is left out
	}
	if content, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(content)) {
			if f := strings.Fields(line); len(f) == 3 &&
				slices.Contains([]string{"MemTotal:", "MemAvailable:", "SwapTotal:"}, f[0]) {
				facts[f[0][:len(f[0])-1]+"_kib"] = f[1]
			}
		}
	}
	for name, file := range map[string]string{
		"cgroup_memory_max": "/sys/fs/cgroup/memory.max", "cgroup_cpu_max": "/sys/fs/cgroup/cpu.max",
		"load": "/proc/loadavg",
	} {
		if content, err := os.ReadFile(file); err == nil {
			facts[name] = strings.TrimSpace(string(content))
		}
	}
	facts["zone"] = g.opts.Now().Format("MST -07:00")
	g.put("host.json", facts)
}

// utsname converts an array of uname(2) to text. Its elements are signed on some systems.
func utsname[T int8 | uint8](field []T) string {
	var b strings.Builder
	for _, c := range field {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c)) //nolint:gosec // ASCII
	}
	return b.String()
}

// manifest adds a file with the version, build and modules of the program, and a list of what is missing in the bundle.
func (g *gatherer) manifest() {
	m := Manifest{Made: g.opts.Now().UTC().Truncate(time.Second), Version: g.opts.Version, Go: runtime.Version(),
		Build: map[string]string{}, Modules: map[string]string{}, Notes: g.notes}
	if m.Notes == nil {
		m.Notes = []string{}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if strings.HasPrefix(s.Key, "vcs") || s.Key == "CGO_ENABLED" || strings.HasPrefix(s.Key, "GO") {
				m.Build[s.Key] = s.Value
			}
		}
		for _, d := range info.Deps {
			m.Modules[d.Path] = d.Version
		}
	}
	g.put("manifest.json", m)
}

// archive writes the files, in the order of their names.
func (g *gatherer) archive(to io.Writer) error {
	z := gzip.NewWriter(to)
	t := tar.NewWriter(z)
	names := make([]string, 0, len(g.files))
	for name := range g.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		content := g.files[name]
		header := &tar.Header{Name: "waitcast-bundle/" + name, Mode: 0o600, Size: int64(len(content)),
			ModTime: g.opts.Now().UTC().Truncate(time.Second), Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
		if _, err := io.Copy(t, bytes.NewReader(content)); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return fmt.Errorf("writing the bundle: %w", err)
	}
	return nil
}
