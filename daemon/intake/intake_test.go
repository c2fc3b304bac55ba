package intake_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/daemon/intake"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/sqlite"
	"github.com/waitcast/waitcast/pipeline/past"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// learner is a fake of the pipeline. It records the history that is in force and learns nothing.
type learner struct {
	inForce  *past.History
	teaching *readmodel.Teaching
	fails    error
}

func (l *learner) View(string) *readmodel.View {
	v := readmodel.New(readmodel.View{View: &cluster.View{}})
	v.Teaching = l.teaching
	return v
}

func (l *learner) HistoryOf(context.Context, string) (*past.History, error) { return l.inForce, nil }

func (l *learner) Teach(_ context.Context, _ string, h past.History) error {
	if l.fails == nil {
		l.inForce = &h
	}
	return l.fails
}

func (l *learner) AwaitTaught(context.Context, string) error { return nil }

// failing is a store that fails after a number of chunks.
type failing struct {
	modelstore.Store
	chunks int
}

var errDisk = errors.New("no room left")

func (f *failing) PutHistory(ctx context.Context, c modelstore.HistoryChunk) error {
	if f.chunks--; f.chunks < 0 {
		return errDisk
	}
	return f.Store.PutHistory(ctx, c)
}

// site is an importer with its store and its learner.
type site struct {
	store    *failing
	learner  *learner
	importer *intake.Importer
}

func newSite(t *testing.T, change func(*intake.Config)) *site {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"), sqlite.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	s := &site{store: &failing{store, 1 << 30}, learner: &learner{}}
	cfg := intake.Config{
		Cluster: "main", Options: collector.Options{Cluster: "main", Location: time.UTC, Others: []string{"beta"}},
		Zone: "UTC", TempDir: t.TempDir(), Retention: 400 * 24 * time.Hour, Now: time.Now, Store: s.store,
		Learner: s.learner, Log: zap.NewNop(),
	}
	if change != nil {
		change(&cfg)
	}
	s.importer = intake.New(cfg)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// texts holds files in memory, as name and text.
type texts struct {
	left   [][2]string
	read   int64
	failed error
}

func (f *texts) Next() (string, io.ReadCloser, error) {
	if len(f.left) == 0 {
		return "", nil, io.EOF
	}
	file := f.left[0]
	f.left, f.read = f.left[1:], f.read+int64(len(file[1]))
	return file[0], io.NopCloser(strings.NewReader(file[1])), nil
}
func (f *texts) Failed() error { return f.failed }
func (f *texts) Read() int64   { return f.read }
func (f *texts) Total() int64  { return f.read }
func (f *texts) Abort()        {}

// imports imports texts under the names "0", "1" and so on.
func (s *site) imports(t *testing.T, files ...string) (*wire.ImportReport, error) {
	t.Helper()
	f := &texts{}
	for i, text := range files {
		f.left = append(f.left, [2]string{fmt.Sprint(i), text})
	}
	return s.importer.Import(t.Context(), intake.Request{Files: f})
}

// held describes the histories and the bad lines in the store.
func (s *site) held(t *testing.T) string {
	t.Helper()
	parts, err := s.store.Histories(t.Context())
	must(t, err)
	bad, err := s.store.BadLines(t.Context(), 0)
	must(t, err)
	return fmt.Sprint(parts, len(bad))
}

// swf returns a workload file of jobs whose numbers begin after first.
func swf(first, jobs int) string {
	var out strings.Builder
	out.WriteString("; UnixStartTime: 1700000000\n")
	for i := first + 1; i <= first+jobs; i++ {
		fmt.Fprintf(&out, "%d %d %d %d 4 -1 -1 4 600 -1 1 %d 1 1 1 1 -1 -1\n", i, 100*i, i%7, 60+i%90, i%5)
	}
	return out.String()
}

// TestFailuresLeaveNothing proves that an import that fails while its chunks are stored, when the history is put in
// force, or because its client is gone, leaves the store unchanged. The same import succeeds later.
func TestFailuresLeaveNothing(t *testing.T) {
	s := newSite(t, nil)
	if _, err := s.imports(t, swf(0, 50)); err != nil {
		t.Fatal(err)
	}
	before, inForce := s.held(t), *s.learner.inForce
	large := swf(1000, 5000) // it needs several chunks
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(before, s.held(t)) + cmp.Diff(inForce, *s.learner.inForce); diff != "" {
			t.Errorf("%s leaves something behind:\n%s", what, diff)
		}
	}
	for chunks := range 4 {
		s.store.chunks = chunks
		_, err := s.imports(t, large)
		check(fmt.Sprintf("a failure after %d chunks", chunks), err, errDisk)
	}
	s.store.chunks, s.learner.fails = 1<<30, errDisk
	_, err := s.imports(t, large)
	check("a history that cannot be put in force", err, errDisk)
	s.learner.fails = nil
	gone := &texts{left: [][2]string{{"0", large}}, failed: errDisk}
	_, err = s.importer.Import(t.Context(), intake.Request{Files: gone})
	var refused *api.Refused
	if !errors.As(err, &refused) || !strings.Contains(refused.Hint, "import them again") {
		t.Errorf("a sender that is gone: %v", err)
	}
	check("a sender that is gone", errDisk, errDisk)
	report, err := s.imports(t, large)
	if err != nil || report.Jobs != 5050 || report.NewJobs != 5000 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestUnion proves that files give the same history whether they are imported together, one after the other, or in
// another order.
func TestUnion(t *testing.T) {
	a, b := swf(0, 40), swf(20, 40)
	together := newSite(t, nil)
	all, err := together.imports(t, a, b)
	must(t, err)
	apart := newSite(t, nil)
	_, err = apart.imports(t, b)
	must(t, err)
	second, err := apart.imports(t, a)
	must(t, err)
	if all.Hash != second.Hash || all.Jobs != 60 || second.NewJobs != 20 ||
		together.learner.inForce.ID != apart.learner.inForce.ID {
		t.Errorf("%+v and %+v, want the same history of 60 jobs", all, second)
	}
	if again, err := apart.imports(t, b, a, a); err != nil || again.Changed || again.Hash != all.Hash {
		t.Errorf("%+v, %v: want nothing new", again, err)
	}
}

// TestNothingNew proves that an import without new events does not cause the history to be learnt again, even if old
// events of the history have been dropped since.
func TestNothingNew(t *testing.T) {
	s := newSite(t, nil)
	_, err := s.imports(t, swf(0, 5000))
	must(t, err)
	h := s.learner.inForce
	kept, err := h.Trim(t.Context(), s.store, "main", h.To, 1)
	must(t, err)
	empty, err := past.EmptyChunk()
	must(t, err)
	must(t, s.store.PutHistory(t.Context(), modelstore.HistoryChunk{Cluster: "main", ID: h.ID, Part: past.EventsPart,
		Data: empty}))
	if kept.First != 1 || kept.Events >= h.Events {
		t.Fatalf("%+v is kept of %+v: want all but the first chunk", kept, h)
	}
	s.learner.inForce = kept
	if report, err := s.imports(t, swf(4000, 1000)); err != nil || report.Changed {
		t.Errorf("%+v, %v: want nothing new", report, err)
	}
	if report, err := s.imports(t, swf(4000, 1010)); err != nil || !report.Changed || report.NewJobs != 10 {
		t.Errorf("%+v, %v: want ten new jobs", report, err)
	}
}

// TestMode proves that the mode comes from the request or, without one, from the number of jobs, and that another mode
// gives another history.
func TestMode(t *testing.T) {
	s := newSite(t, nil)
	file := func() *texts { return &texts{left: [][2]string{{"a", swf(0, 10)}}} }
	for _, c := range []struct{ mode, want past.Mode }{{"", past.Exact}, {past.Fast, past.Fast}} {
		report, err := s.importer.Import(t.Context(), intake.Request{Files: file(), Mode: c.mode})
		if err != nil || !report.Changed || past.Mode(report.Mode) != c.want || s.learner.inForce.Mode != c.want {
			t.Errorf("%q: %+v, %v", c.mode, report, err)
		}
	}
	many := newSite(t, nil)
	if report, err := many.imports(t, swf(0, past.FastAbove+1)); err != nil || report.Mode != string(past.Fast) {
		t.Errorf("%+v, %v: want fast above %d jobs", report, err, past.FastAbove)
	}
}

// TestDamagedHistory proves that a history in force whose chunks are damaged is replaced by the contents of the files.
func TestDamagedHistory(t *testing.T) {
	s := newSite(t, nil)
	_, err := s.imports(t, swf(0, 40))
	must(t, err)
	must(t, s.store.PutHistory(t.Context(), modelstore.HistoryChunk{Cluster: "main", ID: s.learner.inForce.ID,
		Part: past.EventsPart, Data: []byte("damage")}))
	report, err := s.imports(t, swf(20, 40))
	if err != nil || report.Jobs != 40 || !report.Changed {
		t.Errorf("%+v, %v: want the 40 jobs of the file", report, err)
	}
}

// TestWhileLearning proves that an import is refused while a history is being learnt, and that a history that could not
// be learnt can be imported again.
func TestWhileLearning(t *testing.T) {
	s := newSite(t, nil)
	_, err := s.imports(t, swf(0, 40))
	must(t, err)
	s.learner.teaching = &readmodel.Teaching{Done: 1, Total: 2}
	var refused *api.Refused
	if _, err := s.imports(t, swf(0, 50)); !errors.As(err, &refused) || refused.Status != 409 {
		t.Errorf("%v, want 409", err)
	}
	s.learner.teaching = &readmodel.Teaching{Failure: "damaged"}
	if report, err := s.imports(t, swf(0, 40)); err != nil || !report.Changed {
		t.Errorf("%+v, %v: want that the same history is learnt again", report, err)
	}
}

// TestOtherCluster proves that rows of another cluster of the daemon are bad lines, and that all other rows are used.
func TestOtherCluster(t *testing.T) {
	s := newSite(t, nil)
	dump := "JobIDRaw|Cluster|Submit|Start|End|NCPUS|State|Partition|User\n" +
		"7|alpha|1700000000|1700000010|1700000020|4|COMPLETED|work|u\n" +
		"7|beta|1700000000|1700000010|1700000020|4|COMPLETED|work|u\n"
	report, err := s.imports(t, dump)
	if err != nil || report.Jobs != 1 || report.BadLines != 1 || len(report.Bad) != 1 ||
		!strings.HasPrefix(report.Bad[0].First[0], "0:3: ") || !strings.Contains(report.Bad[0].First[0], `"beta"`) {
		t.Errorf("%+v, %v: want that line 3 is of another cluster", report, err)
	}
	bad, err := s.store.BadLines(t.Context(), 0)
	if err != nil || len(bad) != 1 || bad[0].Source != intake.Source("main") || bad[0].Line != 3 {
		t.Errorf("quarantined %+v, %v", bad, err)
	}
}

// TestClose proves that a running import ends with the reason given to Close, and that no other import can begin.
func TestClose(t *testing.T) {
	s := newSite(t, nil)
	body, feed := io.Pipe()
	why := errors.New("stopping")
	done := make(chan error, 1)
	go func() {
		_, err := s.importer.Import(t.Context(), intake.Request{Files: &piped{body: body}})
		done <- err
	}()
	if _, err := io.WriteString(feed, swf(0, 3)); err != nil {
		t.Fatal(err)
	}
	s.importer.Close(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	if _, err := s.imports(t, swf(0, 3)); !errors.Is(err, why) {
		t.Errorf("after Close: %v", err)
	}
}

// piped is one file that comes through a pipe.
type piped struct {
	texts
	body *io.PipeReader
	done bool
}

func (p *piped) Next() (string, io.ReadCloser, error) {
	if p.done {
		return "", nil, io.EOF
	}
	p.done = true
	return "pipe", p.body, nil
}

func (p *piped) Abort() { _ = p.body.CloseWithError(errDisk) }
