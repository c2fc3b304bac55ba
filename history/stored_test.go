package history_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
)

// config returns a configuration that reads the files of a test.
func (f files) config(bad *[]source.BadLine) history.Config {
	return history.Config{
		Formats: history.Formats(time.Now), Format: "pbs",
		Options: collector.Options{Cluster: "c", Location: time.UTC},
		Now:     time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), Open: f.open, MemoryEvents: 5,
		OnBad: func(b source.BadLine) { *bad = append(*bad, b) },
	}
}

// fataler is the part of a test that package testing and rapid share.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// known holds a history as a store keeps it, and its hash.
type known struct {
	chunks [][]byte
	hash   string
	times  []time.Time
}

// store adds files to a stored history and returns both as a store would keep them.
func (f files) store(t fataler, stored known, names ...string) (_ known, bad []source.BadLine) {
	t.Helper()
	h := history.New(f.config(&bad))
	for _, chunk := range stored.chunks {
		if err := history.DecodeChunk(chunk, func(ev *history.Event) error { return h.Add(*ev) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		if err := h.Read(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
	var out known
	var next []history.Event
	digest := history.NewDigest()
	flush := func() {
		chunk, err := history.EncodeChunk(next)
		if err != nil {
			t.Fatal(err)
		}
		out.chunks, next = append(out.chunks, chunk), next[:0]
	}
	err := h.Each(func(ev *history.Event) error {
		digest.Add(ev)
		out.times = append(out.times, ev.Time)
		if next = append(next, *ev); len(next) == 20 {
			flush()
		}
		return nil
	})
	flush()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	out.hash = digest.String()
	return out, bad
}

// TestFilesTwice covers a file that is read twice, or that is added again to the stored history made from it. The
// hash is the same as after one reading. What a file adds does not depend on whether it is read together with the
// others or later.
func TestFilesTwice(t *testing.T) {
	all := files{"live": []byte(queued1 + started1), "ends": []byte(ended1 + ended2), "late": []byte(ended2)}
	once, _ := all.store(t, known{}, "live", "ends")
	for name, twice := range map[string][]string{
		"a file twice": {"live", "ends", "ends"}, "a part of one": {"live", "late", "ends"},
	} {
		if got, _ := all.store(t, known{}, twice...); got.hash != once.hash {
			t.Errorf("%s changes the hash", name)
		}
	}
	for _, names := range [][]string{{}, {"live"}, {"ends", "live"}} {
		if got, bad := all.store(t, once, names...); got.hash != once.hash || len(bad) > 0 {
			t.Errorf("%v again changes the hash, refused %v", names, bad)
		}
	}
	first, _ := all.store(t, known{}, "late")
	if first.hash == once.hash {
		t.Error("a history of fewer jobs has the same hash")
	}
	if got, _ := all.store(t, first, "ends", "live"); got.hash != once.hash {
		t.Error("files that come later give another hash than all at once")
	}
}

// TestStoredContradiction proves that a file that contradicts a stored history is refused at that line.
func TestStoredContradiction(t *testing.T) {
	later := strings.NewReplacer("09:04:00", "10:04:00", "end=1795165440", "end=1795169040").Replace(ended2)
	all := files{"ends": []byte(ended1 + ended2), "later": []byte(ended1 + later)}
	once, _ := all.store(t, known{}, "ends")
	got, bad := all.store(t, once, "later")
	if len(bad) != 1 || bad[0].Path != "later" || bad[0].Number != 2 ||
		!strings.Contains(bad[0].Err.Error(), "an earlier import") {
		t.Fatalf("refused %v, want line 2 of later", bad)
	}
	if got.hash != once.hash {
		t.Error("a refused line changes the hash")
	}
}

// TestOrderOfFiles covers logs in which no two events happen at once. It proves that the result depends neither on the
// order of the files nor on the file in which a record stands, whether some of the files were stored before or not.
func TestOrderOfFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c"}
		texts := map[string]*strings.Builder{"a": {}, "b": {}, "c": {}}
		instants := rapid.Permutation(seconds(60)).Draw(rt, "instants")
		for job := range rapid.IntRange(0, 15).Draw(rt, "jobs") {
			at := instants[4*job : 4*job+4]
			queued, started, ended := at[0], at[0]+100+at[1], at[0]+300+at[1]+at[2]
			from := func(s int) string {
				return time.Unix(1_795_160_000+int64(s), 0).UTC().Format("01/02/2006 15:04:05")
			}
			const unix = 1_795_160_000
			common := fmt.Sprintf("%d.s;user=ann queue=batch ctime=%d qtime=%d etime=%d start=%d "+
				"Resource_List.ncpus=4 Resource_List.nodect=1",
				job, unix+queued, unix+queued, unix+queued, unix+started)
			for _, record := range []string{
				fmt.Sprintf("%s;Q;%d.s;queue=batch\n", from(queued), job),
				fmt.Sprintf("%s;S;%s\n", from(started), common),
				fmt.Sprintf("%s;E;%s end=%d\n", from(ended), common, unix+ended),
			} {
				for _, name := range names {
					if rapid.Bool().Draw(rt, "record") {
						texts[name].WriteString(record)
					}
				}
			}
		}
		all := files{}
		for name, text := range texts {
			all[name] = []byte(text.String())
		}
		want, bad := all.store(rt, known{}, names...)
		if len(bad) > 0 {
			rt.Fatal(bad)
		}
		distinct := map[time.Time]bool{}
		for _, at := range want.times {
			distinct[at] = true
		}
		if len(distinct) < len(want.times) {
			rt.Skip("two things happen at once")
		}
		order := rapid.Permutation(names).Draw(rt, "order")
		first, _ := all.store(rt, known{}, order[:rapid.IntRange(0, 3).Draw(rt, "stored")]...)
		got, _ := all.store(rt, first, order...)
		if diff := cmp.Diff(want.times, got.times); diff != "" || got.hash != want.hash {
			rt.Fatalf("%v has another hash (-want +got):\n%s", order, diff)
		}
	})
}

// seconds returns the numbers from 0 up to n, 1,000 apart.
func seconds(n int) (s []int) {
	for i := range n {
		s = append(s, 1000*i+i*i)
	}
	return s
}
