package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/waitcast/waitcast/modelstore"
)

// MakeChunk returns chunk n of a part of a history. The chunk has size bytes, or more if size is too small for the key
// in them. They differ from the bytes of every other chunk.
func MakeChunk(cluster, id, part string, n, size int) modelstore.HistoryChunk {
	data := fmt.Appendf(nil, "%s/%s/%s/%d ", cluster, id, part, n)
	for i := len(data); i < size; i++ {
		data = append(data, byte(i*(2*n+1)>>3))
	}
	return modelstore.HistoryChunk{Cluster: cluster, ID: id, Part: part, N: n, Data: data}
}

// Histories returns every chunk of every history, by cluster, ID, part and number. The test fails unless the list of
// the histories gives the same numbers of chunks and bytes.
func Histories(t testing.TB, s modelstore.Store) []modelstore.HistoryChunk {
	t.Helper()
	parts, err := s.Histories(background())
	must(t, err)
	var all []modelstore.HistoryChunk
	for _, p := range parts {
		var bytes int64
		chunks := chunksOf(t, s, p.Cluster, p.ID, p.Part)
		for _, c := range chunks {
			bytes += int64(len(c.Data))
		}
		equal(t, "listed part", p, modelstore.HistoryPart{Cluster: p.Cluster, ID: p.ID, Part: p.Part,
			Chunks: int64(len(chunks)), Bytes: bytes})
		all = append(all, chunks...)
	}
	return all
}

func chunksOf(t testing.TB, s modelstore.Store, cluster, id, part string) []modelstore.HistoryChunk {
	t.Helper()
	var chunks []modelstore.HistoryChunk
	must(t, s.HistoryChunks(background(), cluster, id, part, func(n int, data []byte) error {
		chunks = append(chunks, modelstore.HistoryChunk{Cluster: cluster, ID: id, Part: part, N: n, Data: data})
		return nil
	}))
	return chunks
}

// equalChunks fails the test unless both lists of chunks are equal. It does not use cmp, which would take a minute
// for some megabytes.
func equalChunks(t testing.TB, what string, got, want []modelstore.HistoryChunk) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%s: %d instead of %d, without %v", what, len(got), len(want), &want[i])
		case i >= len(want):
			t.Fatalf("%s: %d instead of %d, with %v", what, len(got), len(want), &got[i])
		case got[i].String() != want[i].String():
			t.Fatalf("%s: %v instead of %v", what, &got[i], &want[i])
		case !bytes.Equal(got[i].Data, want[i].Data):
			t.Fatalf("%s: %v has %d other bytes", what, &got[i], len(got[i].Data))
		}
	}
}

func put(t testing.TB, s modelstore.Store, chunks ...modelstore.HistoryChunk) {
	t.Helper()
	for _, c := range chunks {
		must(t, s.PutHistory(background(), c))
	}
}

// histories proves that chunks are returned unchanged. They are returned in order of their numbers, whatever the
// order of writing, and only from the requested part, history and cluster. A later chunk replaces an earlier one with
// the same key. An empty history returns no chunks. All of this also holds after the store is reopened.
func histories(t *testing.T, p Place) {
	s := p.Open(t)
	equalChunks(t, "chunks of an empty store", Histories(t, s), nil)
	chunk := func(cluster, part string, n int) modelstore.HistoryChunk {
		return MakeChunk(cluster, "h1", part, n, 1000+n)
	}
	odd := MakeChunk("ü/\\x41", `\x`, "a\nb", 1<<30, 100)
	large := MakeChunk("c", "h2", "events", 7, 5_000_000)
	want := []modelstore.HistoryChunk{
		chunk("b", "events", 0),
		chunk("c", "events", 0), chunk("c", "events", 1), chunk("c", "events", 2),
		chunk("c", "events", 10), chunk("c", "jobs", 1),
		{Cluster: "c", ID: "h2", Part: "events", N: 0, Data: []byte{0}}, large, odd,
	}
	old := MakeChunk("c", "h1", "events", 1, 30_000)
	longer := MakeChunk("c", "h2", "events", 0, 300)
	put(t, s, large, longer, want[4], old, want[5], want[1], want[3], odd, want[0])
	put(t, s, want[2], want[6], want[1])
	check := func() {
		t.Helper()
		equalChunks(t, "chunks", Histories(t, s), want)
		for i, c := range want {
			data, err := s.HistoryChunk(background(), c.Cluster, c.ID, c.Part, c.N)
			must(t, err)
			c.Data = data
			equalChunks(t, "chunk alone", []modelstore.HistoryChunk{c}, want[i:i+1])
		}
		for _, c := range []modelstore.HistoryChunk{
			{Cluster: "c", ID: "h1", Part: "events", N: 3}, {Cluster: "c", ID: "h1", Part: "none"},
			{Cluster: "c", ID: "none", Part: "events"}, {Cluster: "none", ID: "h1", Part: "events"},
		} {
			data, err := s.HistoryChunk(background(), c.Cluster, c.ID, c.Part, c.N)
			must(t, err)
			if data != nil {
				t.Fatalf("%v is there, though it was never stored", &c)
			}
			if c.N == 0 {
				equalChunks(t, "chunks of "+c.String(), chunksOf(t, s, c.Cluster, c.ID, c.Part), nil)
			}
		}
	}
	check()
	commit(t, s, everything())
	must(t, s.DropSnapshots(background()))
	must(t, s.Close())
	s = open(t, p)
	check()
}

// historiesRefused proves that a chunk that no store can keep is refused, and that the stored chunks stay.
func historiesRefused(t *testing.T, p Place) {
	s := open(t, p)
	sound := MakeChunk("c", "h", "events", 0, 100)
	put(t, s, sound)
	for name, change := range map[string]func(*modelstore.HistoryChunk){
		"no cluster": func(c *modelstore.HistoryChunk) { c.Cluster = "" },
		"no id":      func(c *modelstore.HistoryChunk) { c.ID = "" },
		"no part":    func(c *modelstore.HistoryChunk) { c.Part = "" },
		"zero byte":  func(c *modelstore.HistoryChunk) { c.ID = "h\x00" },
		"no text":    func(c *modelstore.HistoryChunk) { c.Cluster = "\xfc" },
		"negative":   func(c *modelstore.HistoryChunk) { c.N = -1 },
		"no data":    func(c *modelstore.HistoryChunk) { c.Data = nil },
		"too long":   func(c *modelstore.HistoryChunk) { c.Data = make([]byte, modelstore.MaxHistoryChunk+1) },
	} {
		c := sound
		change(&c)
		if _, ok := errors.AsType[*modelstore.InvalidError](s.PutHistory(background(), c)); !ok {
			t.Errorf("a chunk with %s was not refused", name)
		}
	}
	canceled, cancel := context.WithCancel(background())
	cancel()
	if err := s.PutHistory(canceled, MakeChunk("c", "h", "events", 1, 9)); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled put gave %v", err)
	}
	equalChunks(t, "chunks", Histories(t, s), []modelstore.HistoryChunk{sound})
}

// historiesStop proves that a reading of chunks ends with the error of the caller's function, or with that of a
// cancelled context. It also proves that the function may call the store.
func historiesStop(t *testing.T, p Place) {
	s := open(t, p)
	for n := range 5 {
		put(t, s, MakeChunk("c", "h", "events", n, 100))
	}
	stop := errors.New("enough")
	calls := 0
	err := s.HistoryChunks(background(), "c", "h", "events", func(int, []byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Fatalf("reading chunks gave %v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(background())
	err = s.HistoryChunks(ctx, "c", "h", "events", func(int, []byte) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a canceled reading gave %v", err)
	}
	var seen []modelstore.HistoryChunk
	must(t, s.HistoryChunks(background(), "c", "h", "events", func(n int, data []byte) error {
		seen = append(seen, modelstore.HistoryChunk{Cluster: "c", ID: "h", Part: "events", N: n, Data: data})
		put(t, s, MakeChunk("c", "h", "jobs", n, 50))
		commit(t, s, modelstore.Batch{Entries: []modelstore.Entry{MakeEntry(int64(n) + 1)}})
		return nil
	}))
	equalChunks(t, "chunks read", seen, chunksOf(t, s, "c", "h", "events"))
	equal(t, "chunks written meanwhile", len(chunksOf(t, s, "c", "h", "jobs")), 5)
	equal(t, "journal", Entries(t, s), MakeEntries(1, 5))
}

// dropHistories proves that all histories of a cluster are deleted except the named ones, whatever their number of
// chunks. Histories of other clusters and all other data stay.
func dropHistories(t *testing.T, p Place) {
	s := open(t, p)
	commit(t, s, everything())
	var keep, other []modelstore.HistoryChunk
	for n := range 200 {
		keep = append(keep, MakeChunk("c", "keep", "events", n, 60), MakeChunk("c", "too", "jobs", n, 60))
		put(t, s, keep[2*n], keep[2*n+1], MakeChunk("c", "old", "events", n, 60), MakeChunk("c", "old", "jobs", n, 60),
			MakeChunk("c", "zz", "events", n, 60))
	}
	other = append(other, MakeChunk("d", "old", "events", 0, 60))
	put(t, s, other...)
	has := func(what string, ids map[string]int) {
		t.Helper()
		got := map[string]int{}
		for _, c := range Histories(t, s) {
			got[c.Cluster+"/"+c.ID]++
		}
		equal(t, what, got, ids)
	}
	must(t, s.DropHistories(background(), "c", "keep", "never there", "too"))
	has("after dropping all but two", map[string]int{"c/keep": 200, "c/too": 200, "d/old": 1})
	for _, c := range keep {
		data, err := s.HistoryChunk(background(), c.Cluster, c.ID, c.Part, c.N)
		must(t, err)
		equal(t, c.String(), data, c.Data)
	}
	must(t, s.DropHistories(background(), "none"))
	has("after dropping those of no cluster", map[string]int{"c/keep": 200, "c/too": 200, "d/old": 1})
	must(t, s.DropHistories(background(), "c"))
	has("after dropping all", map[string]int{"d/old": 1})
	equalChunks(t, "the other cluster's", Histories(t, s), other)
	equal(t, "journal", Entries(t, s), MakeEntries(1, 700))
	equal(t, "rows", len(Rows(t, s, modelstore.RowQuery{})), 2)
	put(t, s, keep[0])
	equalChunks(t, "after storing again", chunksOf(t, s, "c", "keep", "events"), keep[:1])
}

// damagedChunk proves that a changed byte of a chunk is detected and that the error names the chunk. The chunks
// before the damaged one are still read. Writing the chunk again repairs it.
func damagedChunk(t *testing.T, p Place) {
	s := open(t, p)
	var want []modelstore.HistoryChunk
	for n := range 5 {
		want = append(want, MakeChunk("kth", "id-17", "events", n, 500))
	}
	put(t, s, want...)
	p.DamageHistory(t, want[3])
	named := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, modelstore.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), want[3].String()) {
			t.Errorf("%s gave %v, want an ErrCorrupt that names %v", what, err, &want[3])
		}
	}
	for _, part := range []string{`"kth"`, `"id-17"`, `"events"`, "chunk 3"} {
		if !strings.Contains(want[3].String(), part) {
			t.Errorf("the chunk's name is %v, without %s", &want[3], part)
		}
	}
	var got []modelstore.HistoryChunk
	named("reading all", s.HistoryChunks(background(), "kth", "id-17", "events", func(n int, data []byte) error {
		got = append(got, modelstore.HistoryChunk{Cluster: "kth", ID: "id-17", Part: "events", N: n, Data: data})
		return nil
	}))
	equalChunks(t, "chunks before the damaged one", got, want[:3])
	data, err := s.HistoryChunk(background(), "kth", "id-17", "events", 3)
	named("reading one", err)
	if data != nil {
		t.Errorf("a damaged chunk was returned")
	}
	data, err = s.HistoryChunk(background(), "kth", "id-17", "events", 4)
	must(t, err)
	equal(t, "the chunk after it", data, want[4].Data)
	put(t, s, want[3])
	equalChunks(t, "chunks once it is stored again", Histories(t, s), want)
}

// historiesBesideCommits proves, with the race detector, that no chunk and no commit is lost while chunks are
// written, replaced and dropped, and commits and readers run at the same time. A reader sees each chunk as a whole,
// in its old or its new version.
func historiesBesideCommits(t *testing.T, p Place) {
	s := open(t, p)
	const rounds, chunks = 12, 6
	// All chunks are replaced in each round, and the size of a chunk identifies the round.
	chunk := func(id string, n, round int) modelstore.HistoryChunk {
		return MakeChunk("c", id, "events", n, 5000+round)
	}
	for n := range chunks {
		put(t, s, chunk("kept", n, 0))
	}
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	readers.Go(func() {
		for {
			if err := readChunks(s, chunks, chunk); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	writers.Go(func() {
		for i := range int64(rounds * chunks) {
			if err := s.Commit(background(), modelstore.Batch{Entries: MakeEntries(i*5+1, i*5+5)}); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Go(func() {
		for round := 1; round <= rounds; round++ {
			for n := range chunks {
				if err := errors.Join(s.PutHistory(background(), chunk("kept", n, round)),
					s.PutHistory(background(), chunk("staged", n, round))); err != nil {
					t.Error(err)
				}
			}
			if err := s.DropHistories(background(), "c", "kept"); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	close(done)
	readers.Wait()
	var want []modelstore.HistoryChunk
	for n := range chunks {
		want = append(want, chunk("kept", n, rounds))
	}
	equalChunks(t, "chunks", Histories(t, s), want)
	equal(t, "journal", Entries(t, s), MakeEntries(1, rounds*chunks*5))
}

// readChunks reads the history "kept" once and checks that it is complete.
func readChunks(s modelstore.Store, chunks int, chunk func(string, int, int) modelstore.HistoryChunk) error {
	next := 0
	err := s.HistoryChunks(background(), "c", "kept", "events", func(n int, data []byte) error {
		if n != next || !bytes.Equal(data, chunk("kept", n, len(data)-5000).Data) {
			return fmt.Errorf("chunk %d of %d bytes came where %d was expected, or is mixed", n, len(data), next)
		}
		next++
		return nil
	})
	if err == nil && next != chunks {
		err = fmt.Errorf("%d chunks were read of %d", next, chunks)
	}
	return err
}
