package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/keys"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// content has everything in a store except bad lines.
type content struct {
	history     []modelstore.HistoryChunk
	last        int64
	entries     []modelstore.Entry
	rows        []modelstore.Row
	checkpoints map[string][]byte
	models      map[string]modelstore.SavedModel
	snapshot    *modelstore.Snapshot
	known       []string
}

// bytes returns the content as bytes, so that NaN is equal to itself in a comparison.
func (c *content) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintln(&b, c.last, c.entries, c.checkpoints, c.models, c.known)
	for _, r := range c.rows {
		if r.Parts != nil {
			fmt.Fprint(&b, *r.Parts, " of ")
			r.Parts = nil // a pointer would be printed as an address
		}
		fmt.Fprintln(&b, r)
	}
	for _, chunk := range c.history {
		fmt.Fprintf(&b, "%v %x\n", &chunk, chunk.Data)
	}
	if c.snapshot != nil {
		fmt.Fprintf(&b, "%d %v %x", c.snapshot.Seq, c.snapshot.At, c.snapshot.Sum())
	}
	return b.Bytes()
}

// contents reads everything in a store. It stops at the first error.
func contents(s *Store) (c content, err error) {
	ctx := context.Background()
	if c.last, err = s.LastSeq(ctx); err != nil {
		return c, err
	}
	if err = s.Replay(ctx, 0, func(e modelstore.Entry) error {
		c.entries = append(c.entries, e)
		return nil
	}); err != nil {
		return c, err
	}
	if err = s.Rows(ctx, modelstore.RowQuery{}, func(r modelstore.Row) error {
		c.rows = append(c.rows, r)
		return nil
	}); err != nil {
		return c, err
	}
	if c.checkpoints, err = s.Checkpoints(ctx); err != nil {
		return c, err
	}
	if c.models, err = s.Models(ctx); err != nil {
		return c, err
	}
	if c.snapshot, err = s.Latest(ctx); err != nil {
		return c, err
	}
	if c.history, err = chunks(s); err != nil {
		return c, err
	}
	for job := 1000; job <= 1000+int(c.last)/3; job++ {
		keys, err := s.Known(ctx, "c", fmt.Sprint(job))
		if err != nil {
			return c, err
		}
		c.known = append(c.known, fmt.Sprint(keys))
	}
	_, err = s.Meta(ctx, "a")
	return c, err
}

// chunks reads every chunk of the histories. It stops at the first error.
func chunks(s *Store) (all []modelstore.HistoryChunk, err error) {
	parts, err := s.Histories(context.Background())
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		c := modelstore.HistoryChunk{Cluster: p.Cluster, ID: p.ID, Part: p.Part}
		err := s.HistoryChunks(context.Background(), p.Cluster, p.ID, p.Part, func(n int, data []byte) error {
			c.N, c.Data = n, data
			all = append(all, c)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// wantContents returns the contents of a store after commits of counted batches with the entries 1 to last.
func wantContents(last int64) *content {
	b := counted(1, last)
	c := &content{
		last: last, entries: b.Entries, rows: b.Rows, checkpoints: map[string][]byte{"log": b.Checkpoints[0].Data},
		models: map[string]modelstore.SavedModel{b.Models[0].Name: b.Models[0]}, snapshot: b.Snapshot,
	}
	for job := int64(1000); job <= 1000+last/3; job++ {
		var known []modelstore.Key
		for seq := (job-1000)*3 + 1; seq <= min(last, (job-1000)*3+3); seq++ {
			ev := storetest.MakeEntry(seq).Event
			known = append(known, modelstore.Key{Kind: ev.Kind, Time: ev.Time, Submit: ev.Times.Submit})
		}
		if row := job - 1000; row >= 1 && row <= last {
			r := storetest.MakeRow(row)
			known = keys.Join(known, keys.Closed(modelstore.Key{Time: r.Closed(), Submit: r.Submit}, r.Outcome))
		}
		c.known = append(c.known, fmt.Sprint(known))
	}
	return c
}

const soundEntries = 400

// soundFile returns the bytes of a database that was closed in order, and its contents.
func soundFile(t *testing.T) ([]byte, []byte) {
	t.Helper()
	path := tempPath(t)
	s := mustOpen(t, path, Options{})
	for n := int64(1); n <= soundEntries; n += 40 {
		must(t, s.Commit(t.Context(), counted(n, n+39)))
	}
	var history []modelstore.HistoryChunk
	for n := range 20 {
		history = append(history, storetest.MakeChunk("c", "h", "events", n, 600*n))
		must(t, s.PutHistory(t.Context(), history[n]))
	}
	c, err := contents(s)
	must(t, err)
	must(t, s.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	want := wantContents(soundEntries)
	want.history = history
	if !bytes.Equal(c.bytes(t), want.bytes(t)) {
		t.Fatal("the store does not hold what was committed")
	}
	return data, c.bytes(t)
}

// outcomes counts the possible outcomes for damaged files.
type outcomes struct{ intact, setAside, later, snapshot, refused int }

// tryDamaged opens a damaged file as a daemon would. The test passes in four cases:
//   - the damage did no harm;
//   - a damaged snapshot was noticed, and the older one replaced it if that is whole;
//   - Open refused the file as that of another program or of a newer version;
//   - the damage was detected, and the file was set aside at this Open or, if a read found it, at the next.
func (o *outcomes) tryDamaged(t *testing.T, what string, data, want []byte, opts Options) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.db")
	must(t, os.WriteFile(path, data, 0o640))
	s, err := Open(t.Context(), path, opts)
	if err != nil {
		_, foreign := errors.AsType[*ForeignError](err)
		_, newer := errors.AsType[*modelstore.NewerError](err)
		if !foreign && !newer {
			t.Fatalf("%s: open gave %v", what, err)
		}
		o.refused++
		return
	}
	if s.Recovered() != nil {
		o.setAside++
		checkAside(t, what, s, data)
		must(t, s.Close())
		return
	}
	got, err := contents(s)
	must(t, s.Close())
	switch {
	case err == nil && bytes.Equal(got.bytes(t), want):
		o.intact++
	case err == nil && got.snapshot != nil && len(got.snapshot.Damaged) > 0:
		o.snapshot++
		whole := wantContents(soundEntries)
		got.snapshot = whole.snapshot
		if !bytes.Equal(got.bytes(t), want) {
			t.Fatalf("%s: not detected, and the data differ", what)
		}
	case err == nil:
		t.Fatalf("%s: not detected, and the data differ", what)
	case !errors.Is(err, modelstore.ErrCorrupt):
		t.Fatalf("%s: reading gave %v", what, err)
	case isDamagedSnapshot(err):
		o.snapshot++
	default:
		o.later++
		s := mustOpen(t, path, opts)
		if s.Recovered() == nil {
			t.Fatalf("%s: reading gave %v, but the next Open did not set it aside", what, err)
		}
		must(t, s.Close())
	}
}

func isDamagedSnapshot(err error) bool {
	_, ok := errors.AsType[*modelstore.DamagedError](err)
	return ok
}

// checkAside checks that the file that was set aside has as many bytes as data, and that the new store is empty and
// works.
func checkAside(t *testing.T, what string, s *Store, data []byte) {
	t.Helper()
	aside, err := os.ReadFile(s.Recovered().Path)
	must(t, err)
	if len(aside) != len(data) {
		t.Fatalf("%s: set aside %d bytes of %d", what, len(aside), len(data))
	}
	if last, err := s.LastSeq(t.Context()); err != nil || last != 0 {
		t.Fatalf("%s: the new store has %d entries, %v", what, last, err)
	}
	must(t, s.Commit(t.Context(), counted(1, 3)))
}

// TestGarbage proves that a file that is no database is set aside unchanged, together with the files that belong to it,
// and that this is logged. A second such file within the same second does not overwrite the first.
func TestGarbage(t *testing.T) {
	path := tempPath(t)
	core, logs := observer.New(zap.ErrorLevel)
	seen := map[string]bool{}
	for i, garbage := range []string{
		"x", "garbage", string(bytes.Repeat([]byte("no database "), 5000)), "SQLite format 3\x00",
		"SQLite format 3\x00" + string(make([]byte, 9000)),
	} {
		must(t, os.WriteFile(path, []byte(garbage), 0o640))
		must(t, os.WriteFile(path+"-wal", []byte("wal"), 0o640))
		s := mustOpen(t, path, Options{Log: zap.New(core), Now: storetest.Epoch})
		r := s.Recovered()
		if r == nil || seen[r.Path] || !errors.Is(r.Reason, modelstore.ErrCorrupt) {
			t.Fatalf("garbage %d: recovered %+v", i, r)
		}
		seen[r.Path] = true
		for suffix, want := range map[string]string{"": garbage, "-wal": "wal"} {
			if got, err := os.ReadFile(r.Path + suffix); err != nil || string(got) != want {
				t.Errorf("garbage %d%s: set aside %d bytes of %d, %v", i, suffix, len(got), len(want), err)
			}
		}
		if logs.FilterField(zap.String("aside", r.Path)).Len() != 1 {
			t.Errorf("garbage %d: not logged: %v", i, logs.All())
		}
		must(t, s.Commit(t.Context(), counted(1, 10)))
		must(t, s.Close())
	}
}

// TestOrphanWAL proves that a WAL without its database is set aside, not deleted.
func TestOrphanWAL(t *testing.T) {
	path := tempPath(t)
	must(t, os.WriteFile(path+"-wal", []byte("commits"), 0o640))
	s := closing(t, mustOpen(t, path, Options{}))
	if s.Recovered() == nil {
		t.Fatal("not recovered")
	}
	if got, err := os.ReadFile(s.Recovered().Path + "-wal"); err != nil || string(got) != "commits" {
		t.Errorf("set aside %q, %v", got, err)
	}
}

// TestTruncated proves that a file that is truncated anywhere is set aside.
func TestTruncated(t *testing.T) {
	data, want := soundFile(t)
	seed := rand.Uint64()
	t.Logf("seed %d, %d bytes", seed, len(data))
	rnd := rand.New(rand.NewPCG(seed, 0))
	sizes := []int{1, 15, 16, 99, 100, 511, 512, 4095, 4096, 4097, 8192, len(data) - 4096, len(data) - 1}
	for range cases(20) {
		sizes = append(sizes, 1+rnd.IntN(len(data)-1))
	}
	var o outcomes
	for _, opts := range []Options{{}, {CheckBytes: -1}} {
		for _, size := range sizes {
			o.tryDamaged(t, fmt.Sprintf("cut to %d bytes", size), data[:size], want, opts)
		}
	}
	if o.setAside != 2*len(sizes) {
		t.Errorf("not every cut file was set aside: %+v of %d", o, 2*len(sizes))
	}
}

// TestFlippedHeader proves for every byte of the header that a change of it is harmless or noticed.
func TestFlippedHeader(t *testing.T) {
	data, want := soundFile(t)
	var o outcomes
	for i := 0; i < 100; i += 100 / cases(100) {
		flips := []byte{1, 0x80}
		if os.Getenv("WAITCAST_LONG") == "" {
			flips = flips[rand.IntN(2):][:1] // each byte once, with the lowest or the highest bit
		}
		for _, flip := range flips {
			damaged := bytes.Clone(data)
			damaged[i] ^= flip
			o.tryDamaged(t, fmt.Sprintf("byte %d ^ %#x", i, flip), damaged, want, Options{})
		}
	}
	t.Logf("%+v", o)
}

// TestFlippedBytes proves that changed bytes and overwritten pages are harmless or noticed. If Open checks the whole
// file, it notices all harmful damage.
func TestFlippedBytes(t *testing.T) {
	data, want := soundFile(t)
	seed := rand.Uint64()
	t.Logf("seed %d, %d bytes", seed, len(data))
	rnd := rand.New(rand.NewPCG(seed, 0))
	var o outcomes
	for i := range cases(160) {
		damaged := bytes.Clone(data)
		what := fmt.Sprintf("seed %d case %d", seed, i)
		page := 4096 * rnd.IntN(len(data)/4096)
		switch i % 4 {
		case 0: // one bit
			damaged[100+rnd.IntN(len(data)-100)] ^= 1 << rnd.IntN(8)
		case 1: // the b-tree header of a page
			damaged[max(100, page)+rnd.IntN(12)] ^= byte(1 + rnd.IntN(255))
		case 2: // a page of zeros
			clear(damaged[max(100, page) : page+4096])
		case 3: // a page in the wrong place
			from := 4096 * rnd.IntN(len(data)/4096)
			copy(damaged[max(4096, page):page+4096], data[from:])
		}
		o.tryDamaged(t, what, damaged, want, Options{})
	}
	t.Logf("%+v", o)
	if o.later != 0 {
		t.Errorf("%d files were found damaged only when they were read, though Open looked at all of them", o.later)
	}
	if !testing.Short() && (o.setAside < 50 || o.intact == 0) {
		t.Errorf("the damage tried was too weak or too strong to prove anything: %+v", o)
	}
}

// TestFlippedSchema proves for every byte of the schema's text that a change of it is harmless or noticed.
func TestFlippedSchema(t *testing.T) {
	data, want := soundFile(t)
	// The schema is itself a table. It begins on the first page, and has its texts there or on further pages. Leaf
	// pages of tables are of kind 13: https://www.sqlite.org/fileformat2.html#b_tree_pages
	var pages [][2]int // offsets of the texts on each such page: from the first text to the end of the page
	for page := 0; page < len(data); page += 4096 {
		header := max(100, page)
		if from := bytes.Index(data[page:page+4096], []byte("CREATE ")); from >= 0 && data[header] == 13 {
			pages = append(pages, [2]int{page + from, page + 4096})
		}
	}
	if len(pages) == 0 {
		t.Fatal("the schema's texts are nowhere")
	}
	var o outcomes
	step := len(pages) * 170 / cases(10)
	for _, page := range pages {
		for i := page[0]; i < page[1]; i += step {
			damaged := bytes.Clone(data)
			damaged[i] ^= 1 << (i % 7)
			o.tryDamaged(t, fmt.Sprintf("byte %d", i), damaged, want, Options{})
		}
	}
	t.Logf("%+v", o)
	if o.setAside == 0 || o.intact == 0 || o.later > 0 {
		t.Errorf("the damage tried was too weak or too strong: %+v", o)
	}
}

// TestEmptiedTable proves for every table that it is noticed if the table's first page is replaced by an empty page of
// the same kind.
func TestEmptiedTable(t *testing.T) {
	data, want := soundFile(t)
	path := filepath.Join(t.TempDir(), "roots.db")
	must(t, os.WriteFile(path, data, 0o640))
	s := mustOpen(t, path, Options{})
	rows, err := s.read.QueryContext(t.Context(),
		`SELECT s.name, s.rootpage FROM sqlite_schema s WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite%'`)
	must(t, err)
	roots := map[string]int{}
	for rows.Next() {
		var name string
		var page int
		must(t, rows.Scan(&name, &page))
		roots[name] = page
	}
	must(t, rows.Err())
	must(t, rows.Close())
	filled := map[string]bool{}
	for name := range roots {
		var n int
		must(t, s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM "+name).Scan(&n))
		filled[name] = n > 0
	}
	must(t, s.Close())
	// The kinds of b-tree pages: https://www.sqlite.org/fileformat2.html#b_tree_pages
	leafOf := map[byte]byte{2: 10, 10: 10, 5: 13, 13: 13}
	var o outcomes
	tried := 0
	for name, page := range roots {
		damaged := bytes.Clone(data)
		at := damaged[4096*(page-1) : 4096*page]
		leaf, ok := leafOf[at[0]]
		if !ok {
			t.Fatalf("the first page of %s is of kind %d", name, at[0])
		}
		clear(at)
		at[0], at[5] = leaf, 0x10 // no cells, and their area begins at 4096
		o.tryDamaged(t, "emptied "+name, damaged, want, Options{})
		if filled[name] {
			tried++
		}
	}
	if o.setAside != tried || tried < 6 {
		t.Errorf("%d of %d emptied tables were set aside: %+v", o.setAside, tried, o)
	}
}

// TestFlippedWAL damages the WAL of a killed process. It proves that the store then has the first commits, each of them
// whole, or none.
func TestFlippedWAL(t *testing.T) {
	path := tempPath(t)
	cmd, output, _ := startHelper(t, "commit", path)
	for range 12 {
		output.Scan()
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	db, err := os.ReadFile(path)
	must(t, err)
	wal, err := os.ReadFile(path + "-wal")
	must(t, err)
	seed := rand.Uint64()
	t.Logf("seed %d, %d bytes of WAL", seed, len(wal))
	rnd := rand.New(rand.NewPCG(seed, 0))
	for i := range 40 {
		damaged := bytes.Clone(wal)
		if at := rnd.IntN(len(wal)); i%2 == 0 {
			damaged[at] ^= byte(1 + rnd.IntN(255))
		} else {
			damaged = damaged[:at]
		}
		path := filepath.Join(t.TempDir(), "w.db")
		must(t, os.WriteFile(path, db, 0o640))
		must(t, os.WriteFile(path+"-wal", damaged, 0o640))
		s := mustOpen(t, path, Options{})
		if s.Recovered() == nil {
			got, err := contents(s)
			must(t, err)
			checkChunks(t, fmt.Sprint("case ", i), got.history)
			got.history = nil
			if got.last > 0 && !bytes.Equal(got.bytes(t), wantContents(got.last).bytes(t)) {
				t.Fatalf("case %d: the parts of the store do not agree at %d entries", i, got.last)
			}
		}
		must(t, s.Close())
	}
}

// cases returns how many of n cases are tried: all, or a tenth with -short.
func cases(n int) int {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}
