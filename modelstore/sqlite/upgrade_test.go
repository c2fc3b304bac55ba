package sqlite

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/internal/pack"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// The files testdata/schema-N.db.gz are databases as the program with schema N left them, each with data in every
// table. They were made once, by makeOld below (WAITCAST_MAKE_TESTDATA=1 go test -run TestOldVersions
// ./modelstore/sqlite). makeOld runs the migrations 1 to N and inserts the rows of the functions below in the columns
// of that version, with payloads of events written by hand. Existing files must never be made again. When you add a
// migration, add a file of the schema before it, if there is none.

// at returns an instant some seconds after 2024-03-05 00:00:00 UTC.
func at(seconds int) time.Time { return time.Unix(1709596800+int64(seconds), 0).UTC() }

// oldEntry is an entry with the payload that an old program wrote.
type oldEntry struct {
	want    modelstore.Entry
	payload string
}

// oldEntries returns the journal of a database with an old schema.
func oldEntries(version int) []oldEntry {
	entry := func(seq int64, kind job.Kind, id string, seconds int, payload string, change func(*job.Event)) oldEntry {
		e := modelstore.Entry{Seq: seq, Source: "pbs:/acct",
			Event: job.Event{Kind: kind, Cluster: "kth", ID: id, Time: at(seconds)}}
		change(&e.Event)
		return oldEntry{e, payload}
	}
	entries := []oldEntry{
		entry(1, job.Submit, "1.kth", 10,
			`{"v":1,"q":"batch","u":"ann","a":"physics","p":8,"l":3600000000000,"ts":1709596810000000000}`,
			func(e *job.Event) {
				e.Attributes = job.Attributes{Queue: "batch", User: "ann", Account: "physics", Procs: 8,
					TimeLimit: time.Hour}
				e.Times.Submit = at(10)
			}),
		entry(2, job.Start, "1.kth", 20, `{"v":1,"ts":1709596810000000000,"tb":1709596820000000000,"x":true}`,
			func(e *job.Event) {
				e.Times, e.Live = job.Times{Submit: at(10), Start: at(20)}, true
			}),
		// Because one text is not valid UTF-8, the list r has the five texts that an event had in version 1, in base64.
		entry(3, job.Submit, "2.kth", 30, `{"v":1,"p":1,"r":["YmF0Y2g=","bfxsbGVy","","",""]}`, func(e *job.Event) {
			e.Attributes = job.Attributes{Queue: "batch", User: `m\xfcller`, Procs: 1}
		}),
		entry(4, job.Update, "2.kth", 40, `{"v":1,"p":2}`, func(e *job.Event) { e.Procs = 2 }),
		entry(5, job.Update, "2.kth", 50, `{"v":1,"p":4}`, func(e *job.Event) { e.Procs = 4 }),
	}
	if version < 2 {
		return entries
	}
	return append(entries,
		entry(7, job.Suspend, "1.kth", 60, `{"v":1}`, func(*job.Event) {}), // number 6 was ignored
		entry(8, job.Resume, "1.kth", 70, `{"v":1}`, func(*job.Event) {}),
		entry(9, job.Suspend, "1.kth", 80, `{"v":1}`, func(*job.Event) {}))
}

// oldRows returns the ledger of a database with an old schema.
func oldRows(version int) []modelstore.Row {
	levels := []float64{.5, .95}
	rows := []modelstore.Row{
		{Seq: 2, Cluster: "kth", JobID: "1.kth", Queue: "batch", Procs: 8, TimeLimit: time.Hour, Submit: at(10),
			Start: at(20), Outcome: modelstore.Started, WaitSeconds: 10, Method: "combined", Levels: levels,
			Quantiles: []float64{7.5, math.Inf(1)}, Served: 3},
		{Seq: 4, Cluster: "kth", JobID: "0.kth", Attempt: 1, Queue: "batch", Submit: at(1),
			Outcome: modelstore.Cancelled, WaitSeconds: 39, Reason: "no history", Replayed: true},
	}
	if version >= 3 {
		rows = append(rows, modelstore.Row{Seq: 5, Cluster: "kth", JobID: "3.kth", Queue: "short", Submit: at(45),
			Start: at(50), Outcome: modelstore.Started, WaitSeconds: 5, Method: "combined", Levels: levels,
			Quantiles: []float64{1, 2},
			Peers:     []modelstore.Peer{{Method: "qbets", Quantiles: []float64{math.NaN(), 4}}}})
	}
	if version >= 8 {
		rows = append(rows, modelstore.Row{Seq: 5, Cluster: "kth", JobID: "4.kth", Queue: "short", Submit: at(20),
			Start: at(50), Outcome: modelstore.Started, WaitSeconds: 30, Method: "combined", Levels: levels,
			Quantiles: []float64{40, math.Inf(1)},
			Parts: &modelstore.Parts{BlockedSeconds: 25.5, Blocked: []float64{30, math.Inf(1)},
				Eligible: []float64{8, math.NaN()}, Predicted: "limit", Settled: "QOSMaxCpuPerUserLimit"}})
	}
	return rows
}

// oldModel returns the saved model of a database with an old schema, in pieces.
func oldModel() [][]byte { return [][]byte{[]byte("the load "), {0, 255}} }

// oldHistory returns the history of a database with an old schema.
func oldHistory() []modelstore.HistoryChunk {
	chunk := func(part string, n int, data string) modelstore.HistoryChunk {
		return modelstore.HistoryChunk{Cluster: "kth", ID: "h-17", Part: part, N: n, Data: []byte(data)}
	}
	return []modelstore.HistoryChunk{
		chunk("events", 0, "some events"), chunk("events", 1, "\x00\xff"), chunk("jobs", 0, "some jobs"),
	}
}

func oldSnapshots() []modelstore.Snapshot {
	return []modelstore.Snapshot{
		{Seq: 2, At: at(100), Parts: map[string][]byte{"state": []byte("after 2"), "models/batch": {}}},
		{Seq: 5, At: at(200), Parts: map[string][]byte{"state": bytes.Repeat([]byte("after 5 "), 1000)}},
	}
}

// makeOld makes a database at path as the program with schema version left it.
func makeOld(t *testing.T, version int, path string) {
	db, err := openDB(path, map[string][]string{"_pragma": {"journal_mode(WAL)"}})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	must(t, err)
	for i, name := range names[:version] {
		text, err := fs.ReadFile(migrations, name)
		must(t, err)
		must(t, runMigration(t.Context(), db, string(text), i+1))
	}
	exec := func(query string, args ...any) {
		_, err := db.ExecContext(t.Context(), query, args...)
		must(t, err)
	}
	sum := newSummer()
	last := int64(0)
	for _, e := range oldEntries(version) {
		ev := e.want.Event
		c := entryColumns{seq: e.want.Seq, cluster: ev.Cluster, jobID: ev.ID, attempt: int64(ev.Attempt),
			kind: ev.Kind.String(), time: ev.Time.UnixNano(), source: e.want.Source,
			event:  []byte(e.payload),
			submit: sql.NullInt64{Int64: ev.Times.Submit.UnixNano(), Valid: !ev.Times.Submit.IsZero()}}
		exec("INSERT INTO journal (seq, cluster, job_id, attempt, kind, time, submit, source, event, crc) VALUES "+
			"(?,?,?,?,?,?,?,?,?,?)",
			c.seq, c.cluster, c.jobID, c.attempt, c.kind, c.time, c.submit, c.source, e.payload, c.sum(sum))
		last = e.want.Seq
	}
	exec("UPDATE head SET last_seq = ?, crc = ?", last+1, sum.int(last+1).sum()) // the store ignored entry last+1
	exec("INSERT INTO checkpoint VALUES ('pbs:/acct', x'00ff', ?)", sum.text("pbs:/acct").bytes([]byte{0, 255}).sum())
	exec("INSERT INTO meta VALUES ('fingerprint', 'f1', ?)", sum.text("fingerprint").text("f1").sum())
	exec("INSERT INTO bad_line (at, source, path, line, reason, message, text) VALUES (?, 'pbs:/acct', '/acct/1', 7, "+
		"'field', 'no end', x'41ff')", at(3).UnixNano())
	if version >= 6 {
		for piece, data := range oldModel() {
			exec("INSERT INTO saved_model (name, piece, seq, data, crc) VALUES ('kth/load', ?, 5, ?, ?)",
				piece, data, sum.text("kth/load").int(int64(piece)).int(5).bytes(data).sum())
		}
	}
	if version >= 7 {
		for _, c := range oldHistory() {
			exec("INSERT INTO history (cluster, id, part, n, data, crc) VALUES (?,?,?,?,?,?)",
				c.Cluster, c.ID, c.Part, c.N, c.Data, c.Sum())
		}
	}
	insertOldRows(t, exec, version)
	for _, s := range oldSnapshots() {
		sum := s.Sum()
		exec("INSERT INTO snapshot VALUES (?,?,?)", s.Seq, s.At.UnixNano(), sum[:])
		for name, data := range s.Parts {
			if version < 5 {
				exec("INSERT INTO snapshot_part VALUES (?,?,?)", s.Seq, name, data)
				continue
			}
			half := len(data) / 2
			exec("INSERT INTO snapshot_part VALUES (?,?,0,?), (?,?,1,?)", s.Seq, name, data[:half], s.Seq,
				name, data[half:])
		}
	}
}

func insertOldRows(t *testing.T, exec func(string, ...any), version int) {
	t.Helper()
	sum := newSummer()
	exec("INSERT INTO levels VALUES (1, ?)", pack.Floats([]float64{.5, .95}))
	for _, r := range oldRows(version) {
		var levelsID any
		if r.Levels != nil {
			levelsID = 1
		}
		levels, quantiles, peers := pack.Floats(r.Levels), pack.Floats(r.Quantiles), pack.Peers(r.Peers)
		exec(
			`INSERT INTO ledger (seq, cluster, job_id, attempt, queue, procs, time_limit, submit, start, closed,
			outcome, wait_seconds, method, levels_id, quantiles, reason, replayed, served, crc)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
			r.Seq, r.Cluster, r.JobID, r.Attempt, r.Queue, r.Procs, int64(r.TimeLimit), r.Submit.UnixNano(),
			nanos(r.Start), r.Closed().UnixNano(), r.Outcome, r.WaitSeconds,
			r.Method, levelsID, quantiles, r.Reason, r.Replayed, r.Served, sumRow(sum, &r, levels, quantiles, peers))
		if peers != nil {
			exec("UPDATE ledger SET peers = ? WHERE seq = ?", peers, r.Seq)
		}
		if p := r.Parts; p != nil {
			exec(`UPDATE ledger SET blocked_seconds = ?, blocked = ?, eligible = ?, predicted = ?, settled = ?
				WHERE job_id = ?`, p.BlockedSeconds, pack.Floats(p.Blocked), pack.Floats(p.Eligible), p.Predicted,
				p.Settled, r.JobID)
		}
	}
}

// makeTestdata makes those of the files testdata/schema-N.db.gz, N from 1 to versions, that do not exist.
func makeTestdata(t *testing.T, versions int) {
	for version := 1; version <= versions; version++ {
		name := oldName(version)
		if _, err := os.Stat(name); err == nil {
			continue
		}
		path := tempPath(t)
		makeOld(t, version, path)
		content, err := os.ReadFile(path)
		must(t, err)
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		must(t, err)
		_, err = w.Write(content)
		must(t, err)
		must(t, w.Close())
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(name, packed.Bytes(), 0o644))
	}
}

func oldName(version int) string {
	return filepath.Join("testdata", fmt.Sprintf("schema-%d.db.gz", version))
}

// unpackOld decompresses the database with schema version, and returns the path of the copy.
func unpackOld(t *testing.T, version int) string {
	t.Helper()
	file, err := os.Open(oldName(version))
	if err != nil {
		t.Fatalf("there is no database of schema %d: %v", version, err)
	}
	defer func() { must(t, file.Close()) }()
	r, err := gzip.NewReader(file)
	must(t, err)
	var content bytes.Buffer
	_, err = content.ReadFrom(r)
	must(t, err)
	path := tempPath(t)
	must(t, os.WriteFile(path, content.Bytes(), 0o640))
	return path
}

// TestOldVersions proves that a database of every older schema can be opened, has the right contents afterwards, and
// can be used further.
func TestOldVersions(t *testing.T) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	must(t, err)
	if os.Getenv("WAITCAST_MAKE_TESTDATA") != "" {
		makeTestdata(t, len(names))
	}
	for version := 1; version <= len(names); version++ {
		t.Run(fmt.Sprint("schema ", version), func(t *testing.T) {
			path := unpackOld(t, version)
			info, err := Describe(t.Context(), path)
			must(t, err)
			if info.Schema != version || info.Spaces[0].Rows != int64(len(oldRows(version))) {
				t.Fatalf("the file is %+v", info)
			}
			s := closing(t, mustOpen(t, path, Options{}))
			if s.Recovered() != nil {
				t.Fatalf("set aside: %v", s.Recovered().Reason)
			}
			checkOld(t, s, version)
			if info, err = Describe(t.Context(), path); err != nil || info.Schema != len(names) {
				t.Errorf("afterwards it is %+v, %v", info, err)
			}
		})
	}
}

func checkOld(t *testing.T, s *Store, version int) {
	t.Helper()
	equal := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	var entries []modelstore.Entry
	for _, e := range oldEntries(version) {
		entries = append(entries, e.want)
	}
	equal("journal", storetest.Entries(t, s), entries)
	equal("ledger", storetest.Rows(t, s, modelstore.RowQuery{}), oldRows(version))
	var snaps []modelstore.Snapshot
	must(t, s.Snapshots(t.Context(), func(snap modelstore.Snapshot) error { snaps = append(snaps, snap); return nil }))
	equal("snapshots", snaps, oldSnapshots())
	cps, err := s.Checkpoints(t.Context())
	must(t, err)
	equal("checkpoints", cps, map[string][]byte{"pbs:/acct": {0, 255}})
	models, err := s.Models(t.Context())
	must(t, err)
	var wantModels map[string]modelstore.SavedModel
	if version >= 6 {
		wantModels = map[string]modelstore.SavedModel{
			"kth/load": {Name: "kth/load", Seq: 5, Data: bytes.Join(oldModel(), nil)},
		}
	}
	equal("saved models", models, wantModels)
	var wantHistory []modelstore.HistoryChunk
	if version >= 7 {
		wantHistory = oldHistory()
	}
	equal("history", storetest.Histories(t, s), wantHistory)
	values, err := s.AllMeta(t.Context())
	must(t, err)
	equal("values", values, map[string]string{"fingerprint": "f1"})
	lines, err := s.BadLines(t.Context(), 0)
	must(t, err)
	equal("bad lines", lines,
		[]modelstore.BadLine{{At: at(3), Source: "pbs:/acct", Path: "/acct/1", Line: 7, Reason: "field",
			Message: "no end", Text: []byte{'A', 255}}})
	keys, err := s.Known(t.Context(), "kth", "1.kth")
	must(t, err)
	equal("known of a job", keys[:2], []modelstore.Key{{Kind: job.Submit, Time: at(10), Submit: at(10)},
		{Kind: job.Start, Time: at(20), Submit: at(10)}})

	last := entries[len(entries)-1].Seq + 1
	suspended := modelstore.Entry{Seq: last + 1,
		Event: job.Event{Kind: job.Suspend, Cluster: "kth", ID: "1.kth", Time: at(300)}}
	again := modelstore.Entry{Seq: last + 2,
		Event: job.Event{Kind: job.Suspend, Cluster: "kth", ID: "1.kth", Time: at(301)}}
	must(t,
		s.Commit(t.Context(), modelstore.Batch{Entries: []modelstore.Entry{suspended, again},
			Rows: []modelstore.Row{storetest.MakeRow(3)}}))
	must(t, s.PutHistory(t.Context(), storetest.MakeChunk("kth", "new", "events", 0, 50)))
	equal("journal after a commit", storetest.Entries(t, s), append(entries, suspended, again))
	equal("ledger after a commit", len(storetest.Rows(t, s, modelstore.RowQuery{})), len(oldRows(version))+1)
	equal("history after a chunk", len(storetest.Histories(t, s)), len(wantHistory)+1)
}
