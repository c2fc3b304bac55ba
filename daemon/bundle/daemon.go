package bundle

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon/check"
)

// These limit the requests to a daemon.
const (
	patience  = 30 * time.Second
	maxAnswer = 64 << 20
	maxQueues = 200
)

// errStatus is the error for an answer whose status is not 200. It does not contain the answer's text.
var errStatus = errors.New("refused")

// running adds the answers of a running daemon to a bundle. token is the daemon's admin token, "" if it cannot be read.
type running struct {
	*gatherer
	url, token string
}

// daemon adds the answers of a running daemon.
func (g *gatherer) daemon(ctx context.Context, cfg *config.Config) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	d := &running{gatherer: g, url: strings.TrimSuffix(g.opts.URL, "/")}
	if d.url == "" {
		d.url = check.URL(cfg.Listen)
	}
	if token, err := os.ReadFile(cfg.AdminTokenFile); err == nil {
		d.token = strings.TrimSpace(string(token))
	}
	word, err := d.get(ctx, "/readyz")
	if err != nil && !errors.Is(err, errStatus) {
		g.note("no daemon answers: its metrics, views and models are left out")
		return
	}
	first, _, _ := bytes.Cut(word, []byte{'\n'})
	if !slices.Contains([]string{"ready", "not ready", "degraded"}, string(bytes.TrimSpace(first))) {
		first = []byte(masked)
	}
	g.files["ready.txt"] = append(bytes.TrimSpace(first), '\n')
	if d.token == "" {
		g.note("the admin token cannot be read: reasons of bad lines and goroutines are left out")
	}
	d.metrics(ctx)
	d.answer(ctx, "accuracy.json", "/v1/accuracy")
	d.views(ctx)
	if d.token != "" {
		d.quarantine(ctx)
		d.answer(ctx, "log-level.json", "/v1/log-level")
		if g.opts.Goroutines {
			d.goroutines(ctx)
		}
	}
}

// get requests a path. If it returns errStatus, it returns the content too.
func (d *running) get(ctx context.Context, path string) (content []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, nil)
	if err != nil {
		return nil, err
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // nothing was written
	content, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err == nil && response.StatusCode != http.StatusOK {
		err = errStatus
	}
	return content, err
}

// answer adds a JSON answer, masked.
func (d *running) answer(ctx context.Context, name, path string) {
	content, err := d.get(ctx, path)
	if err == nil {
		content, err = d.mask.json(content)
	}
	if err != nil {
		d.note("%s: no answer from the daemon", name)
		return
	}
	d.files[name] = content
}

// views adds the queues, and the models of the first maxQueues of them.
func (d *running) views(ctx context.Context) {
	content, err := d.get(ctx, "/v1/queues")
	var queues wire.Queues
	if err != nil || json.Unmarshal(content, &queues) != nil {
		d.note("queues.json: no answer from the daemon")
		return
	}
	if content, err = d.mask.json(content); err == nil {
		d.files["queues.json"] = content
	}
	for i, q := range queues.Queues {
		if i == maxQueues {
			d.note("models of the first %d queues only", maxQueues)
			return
		}
		name := "models/" + d.mask.name("cluster", q.Cluster) + "-" + d.mask.name("queue", q.Name) + ".json"
		d.answer(ctx, name, "/v1/models/"+url.PathEscape(q.Name)+"?cluster="+url.QueryEscape(q.Cluster))
	}
}

// quarantine adds the number of bad lines by source and reason, without the lines.
func (d *running) quarantine(ctx context.Context) {
	content, err := d.get(ctx, "/v1/quarantine?limit=10000")
	var q wire.Quarantine
	if err != nil || json.Unmarshal(content, &q) != nil {
		d.note("quarantine.json: no answer from the daemon")
		return
	}
	type row struct {
		Source string    `json:"source"`
		Reason string    `json:"reason"`
		Lines  int       `json:"lines"`
		Newest time.Time `json:"newest"`
	}
	rows := []*row{}
	for _, b := range q.BadLines {
		source, reason := d.mask.source(b.Source), b.Reason
		if !word.MatchString(reason) {
			reason = masked
		}
		i := slices.IndexFunc(rows, func(r *row) bool { return r.Source == source && r.Reason == reason })
		if i < 0 {
			i, rows = len(rows), append(rows, &row{Source: source, Reason: reason})
		}
		rows[i].Lines++
		rows[i].Newest = b.At
	}
	d.put("quarantine.json", map[string]any{"by_reason": rows, "kept": q.Kept, "dropped": q.Dropped})
}

// plainLabel reports whether the values of a metric's label are numbers or fixed words of the program. Such a label
// has no names from the site.
func plainLabel(name string) bool {
	return slices.Contains([]string{
		"class", "law", "model", "stay", "size", "horizon", "method", "peer", "level", "verdict", "reason", "kind",
		"code", "quantile", "le", "policy", "tier", "channel", "condition",
	}, name)
}

// metrics adds the metrics of the daemon, of the Go runtime and of the process.
func (d *running) metrics(ctx context.Context) {
	content, err := d.get(ctx, "/metrics")
	if err != nil {
		d.note("metrics.txt: no answer from the daemon")
		return
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(content))
	if err != nil {
		d.note("metrics.txt: cannot be read")
		return
	}
	var out bytes.Buffer
	names := make([]string, 0, len(families))
	for name := range families {
		if strings.HasPrefix(name, "waitcast_") || strings.HasPrefix(name, "go_") ||
			strings.HasPrefix(name, "process_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		family := families[name]
		family.Help = nil // docs/metrics.md has the help texts
		for _, m := range family.Metric {
			for _, l := range m.Label {
				d.label(name, l)
			}
		}
		if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
			d.note("metrics.txt: cannot be written")
			return
		}
	}
	d.files["metrics.txt"] = out.Bytes()
}

func (d *running) label(metric string, l *dto.LabelPair) {
	value := l.GetValue()
	switch name := l.GetName(); {
	case metric == "waitcast_health_condition" && name == "reason": // the text of this reason may contain paths
		value = masked
	case name == "cluster":
		value = d.mask.name("cluster", value)
	case name == "queue", name == "pool":
		value = d.mask.name("queue", value)
	case name == "source":
		value = d.mask.source(value)
	case name == "version" && (strings.HasPrefix(metric, "go_") || strings.HasPrefix(metric, "waitcast_")),
		plainLabel(name):
	default:
		value = masked
	}
	l.Value = &value
}

// buildPath matches the path of a source file at build time.
var buildPath = regexp.MustCompile(`(?m)/\S*/([^/\s]+\.(?:go|s):\d+)`)

// goroutines adds the stacks, without the folders of the machine on which the program was built.
func (d *running) goroutines(ctx context.Context) {
	content, err := d.get(ctx, "/v1/goroutines")
	if err != nil {
		d.note("goroutines.txt: no answer from the daemon")
		return
	}
	d.files["goroutines.txt"] = buildPath.ReplaceAll(content, []byte("$1"))
}

// store adds the sizes of the database's files and the version of its schema.
func (g *gatherer) store(cfg *config.Config) {
	type file struct {
		Ending   string    `json:"ending"`
		Bytes    int64     `json:"bytes"`
		Modified time.Time `json:"modified"`
	}
	files := []file{}
	matches, _ := filepath.Glob(globEscape(cfg.Store.Path) + "*") // cannot fail, because the pattern is well formed
	for _, path := range matches {
		ending := strings.TrimPrefix(path, cfg.Store.Path)
		if !storeEnding.MatchString(ending) {
			continue // the file is probably a copy made by an administrator
		}
		if info, err := os.Stat(path); err == nil {
			files = append(files, file{ending, info.Size(), info.ModTime().UTC()})
		}
	}
	facts := map[string]any{"files": files}
	if version, ok := schemaVersion(cfg.Store.Path); ok {
		facts["schema_version"] = version
	}
	g.put("store.json", facts)
}

// storeEnding matches the rest of a file name after the database's name, for each file of a database. Package sqlite
// lists these files.
var storeEnding = regexp.MustCompile(`^(?:|-wal|-shm|\.lock|\.corrupt-[0-9TZ]+(?:-wal|-shm)?)$`)

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// schemaVersion reads the user version from the header of an SQLite file. The user version is the four bytes at
// offset 60: https://www.sqlite.org/fileformat2.html#database_header.
func schemaVersion(path string) (uint32, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var header [64]byte
	if _, err := io.ReadFull(f, header[:]); err != nil || !bytes.HasPrefix(header[:], []byte("SQLite format 3\x00")) {
		return 0, false
	}
	return binary.BigEndian.Uint32(header[60:]), true
}
