package modelstore_test

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/job"
	"github.com/waitcast/waitcast/modelstore"
)

func drawTime(t *rapid.T, name string) time.Time {
	if rapid.Bool().Draw(t, name+" unknown") {
		return time.Time{}
	}
	return time.Unix(0, rapid.Int64().Draw(t, name)).UTC()
}

func drawText(t *rapid.T, name string) string {
	if rapid.IntRange(0, 3).Draw(t, name+" kind") == 0 {
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, name))
	}
	return rapid.String().Draw(t, name)
}

// drawAttributes draws a value for every field, so that no new field can be forgotten.
func drawAttributes(t *rapid.T) job.Attributes {
	var a job.Attributes
	fields := reflect.ValueOf(&a).Elem()
	for i := range fields.NumField() {
		switch v, name := fields.Field(i), fields.Type().Field(i).Name; v.Kind() {
		case reflect.String:
			v.SetString(drawText(t, name))
		case reflect.Int, reflect.Int64:
			v.SetInt(rapid.Int64().Draw(t, name))
		case reflect.Bool:
			v.SetBool(rapid.Bool().Draw(t, name))
		case reflect.Struct:
			v.Set(reflect.ValueOf(drawTime(t, name)))
		default:
			t.Fatalf("the field %s is a %s: teach this test to draw it", name, v.Kind())
		}
	}
	return a
}

// TestEventRoundTrip proves that every event with printable texts can be read back from its payload, and that equal
// events give equal bytes.
func TestEventRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ev := job.Event{Kind: job.Start, Cluster: "c", ID: "1", Attempt: 2, Time: time.Unix(1, 2).UTC()}
		ev.Attributes = drawAttributes(t)
		ev.Times = job.Times{Submit: drawTime(t, "submit"), Eligible: drawTime(t, "eligible"),
			Start: drawTime(t, "start"), End: drawTime(t, "end")}
		ev.Live = rapid.Bool().Draw(t, "live")
		ev.Derived = rapid.Bool().Draw(t, "derived")
		ev.EachText(job.Printable) // as where a record becomes an event
		data, err := modelstore.EncodeEvent(&ev)
		if err != nil {
			t.Fatal(err)
		}
		again, err := modelstore.EncodeEvent(&ev)
		if err != nil || string(again) != string(data) {
			t.Fatalf("encoded twice: %s and %s, %v", data, again, err)
		}
		got := job.Event{Kind: ev.Kind, Cluster: ev.Cluster, ID: ev.ID, Attempt: ev.Attempt, Time: ev.Time}
		if err := modelstore.DecodeEvent(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestEventFormat fixes the bytes of version 1, because journals must stay readable. The expected bytes come from the
// description of the format, not from the program.
func TestEventFormat(t *testing.T) {
	const stored = `{"v":1,"q":"batch","u":"ann","p":4,"l":3600000000000,"ts":5,"tb":-1,"x":true}`
	want := job.Event{
		Attributes: job.Attributes{Queue: "batch", User: "ann", Procs: 4, TimeLimit: time.Hour},
		Times:      job.Times{Submit: time.Unix(0, 5).UTC(), Start: time.Unix(0, -1).UTC()}, Live: true,
	}
	var got job.Event
	if err := modelstore.DecodeEvent([]byte(stored), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	data, err := modelstore.EncodeEvent(&want)
	if err != nil || string(data) != stored {
		t.Errorf("encoded %s, %v", data, err)
	}
}

// TestEventOfOldVersion proves that an event with texts that are not UTF-8, or have control characters, gets printable
// texts. Versions before 0.2 stored such texts. The first payload is one that 0.1.0 wrote.
func TestEventOfOldVersion(t *testing.T) {
	for stored, want := range map[string]job.Attributes{
		`{"v":1,"p":4,"r":["d29yaw==","bfxsbGVy","Y2Fm6Q==","","QXVzd2VydHVuZ19m/HI=","","","","Zw==","",""]}`: {
			Procs: 4, Queue: "work", User: `m\xfcller`, Account: `caf\xe9`, Name: `Auswertung_f\xfcr`, Group: "g"},
		`{"v":1,"n":"a\u0000b\u001b[m","u":"\\xff"}`: {Name: `a\x00b\x1b[m`, User: `\xff`},
	} {
		got := job.Event{ID: "1"}
		if err := modelstore.DecodeEvent([]byte(stored), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(job.Event{ID: "1", Attributes: want}, got); diff != "" {
			t.Errorf("%s: %s", stored, diff)
		}
	}
}

// TestEventDamaged proves that damage and a newer version cause different errors.
func TestEventDamaged(t *testing.T) {
	var ev job.Event
	for _, data := range []string{"", "{", "[]", `{"v":1,"r":["YQ=="]}`, `{"v":1,"ts":"x"}`} {
		if err := modelstore.DecodeEvent([]byte(data), &ev); !errors.Is(err, modelstore.ErrCorrupt) {
			t.Errorf("%q gave %v", data, err)
		}
	}
	if err := modelstore.DecodeEvent([]byte(`{"v":2}`), &ev); err == nil || errors.Is(err, modelstore.ErrCorrupt) {
		t.Errorf("a newer version gave %v", err)
	}
}

// TestKindNames proves that the names of all kinds can be parsed, and no other names.
func TestKindNames(t *testing.T) {
	for k := job.Submit; k <= job.Machine; k++ {
		if got, err := modelstore.ParseKind(k.String()); err != nil || got != k {
			t.Errorf("%v was read as %v, %v", k, got, err)
		}
	}
	for _, name := range []string{"", "kind(0)", "kind(9)", "Submit"} {
		if k, err := modelstore.ParseKind(name); !errors.Is(err, modelstore.ErrCorrupt) {
			t.Errorf("%q was read as %v, %v", name, k, err)
		}
	}
}

// TestSnapshotSum proves that the checksum covers the number, the time, the names, the bytes, and the borders between
// these.
func TestSnapshotSum(t *testing.T) {
	at := time.Unix(1, 2)
	snaps := []*modelstore.Snapshot{
		{Seq: 1, At: at}, {Seq: 2, At: at}, {Seq: 1, At: at.Add(1)},
		{Seq: 1, At: at, Parts: map[string][]byte{"a": nil}},
		{Seq: 1, At: at, Parts: map[string][]byte{"a": []byte("b")}},
		{Seq: 1, At: at, Parts: map[string][]byte{"ab": nil}},
		{Seq: 1, At: at, Parts: map[string][]byte{"a": nil, "b": nil}},
		{Seq: 1, At: at, Parts: map[string][]byte{"a": nil, "b": []byte("x")}},
		{Seq: 1, At: at, Parts: map[string][]byte{"a": []byte("x"), "b": nil}},
	}
	seen := map[[32]byte]int{}
	for i, s := range snaps {
		if j, ok := seen[s.Sum()]; ok {
			t.Errorf("snapshots %d and %d have the same checksum", i, j)
		}
		seen[s.Sum()] = i
		moved := *s
		moved.At = s.At.UTC()
		if moved.Sum() != s.Sum() {
			t.Errorf("the zone changes the checksum of snapshot %d", i)
		}
	}
}

// TestRowClosed checks the results of Closed for both outcomes.
func TestRowClosed(t *testing.T) {
	submit := time.Unix(100, 0)
	started := modelstore.Row{Submit: submit, Start: time.Unix(150, 0), WaitSeconds: 7}
	canceled := modelstore.Row{Submit: submit, WaitSeconds: 7.5}
	if got := started.Closed(); !got.Equal(time.Unix(150, 0)) {
		t.Errorf("started: %v", got)
	}
	if got := canceled.Closed(); !got.Equal(time.Unix(107, 5e8)) {
		t.Errorf("canceled: %v", got)
	}
}

// TestTimeBounds proves that MinTime and MaxTime are the bounds of 64-bit nanoseconds.
func TestTimeBounds(t *testing.T) {
	if got := modelstore.MinTime().UnixNano(); got != math.MinInt64 {
		t.Errorf("least %d", got)
	}
	if got := modelstore.MaxTime().UnixNano(); got != math.MaxInt64 {
		t.Errorf("greatest %d", got)
	}
}

// FuzzDecodeEvent proves that no payload makes the decoder panic, and that a decoded event can be stored and read again
// unchanged.
func FuzzDecodeEvent(f *testing.F) {
	for _, seed := range []string{
		"", `{"v":1}`, `{"v":1,"q":"batch","p":4,"ts":5,"r":["YQ==","","","",""]}`,
		`{"v":1,"r":[null,null,null,null,null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ev, again job.Event
		if modelstore.DecodeEvent(data, &ev) != nil {
			return
		}
		stored, err := modelstore.EncodeEvent(&ev)
		if err != nil {
			t.Fatal(err)
		}
		if err := modelstore.DecodeEvent(stored, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ev, again); diff != "" {
			t.Error(diff)
		}
	})
}
