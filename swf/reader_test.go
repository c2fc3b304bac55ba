package swf_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/swf"
)

const (
	goodA = "1 0 0 5 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1"
	goodB = "2 9 0 5 1 -1 -1 1 60 -1 1 1 1 1 1 -1 -1 -1"
	mixed = "; MaxProcs: 8\n" + goodA + "\n\n1 2 3\n; Note: late\n" + goodB
)

func readAll(t testing.TB, r *swf.Reader) []swf.Record {
	t.Helper()
	var all []swf.Record
	for {
		var rec swf.Record
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rec)
	}
}

func TestNextTellsTheLineOfABadOneAndGoesOn(t *testing.T) {
	r := swf.NewReader(iotest.OneByteReader(strings.NewReader(mixed)), swf.Name("x.swf"))
	var rec swf.Record
	if err := r.Next(&rec); err != nil || rec.ID != 1 || r.Line() != 2 {
		t.Fatalf("first: job %d at line %d, %v", rec.ID, r.Line(), err)
	}
	err := r.Next(&rec)
	var bad *swf.LineError
	var field *swf.FieldError
	if !errors.As(err, &bad) || bad.Line != 4 || !errors.As(err, &field) || field.Field != 4 {
		t.Fatalf("second: %v, want line 4, field 4", err)
	}
	if !strings.HasPrefix(err.Error(), "x.swf:4: field 4 (runtime)") {
		t.Errorf("error %q does not start with file and line", err)
	}
	if err := r.Next(&rec); err != nil || rec.ID != 2 || r.Line() != 6 {
		t.Fatalf("third: job %d at line %d, %v", rec.ID, r.Line(), err)
	}
	for range 2 {
		if err := r.Next(&rec); !errors.Is(err, io.EOF) {
			t.Fatalf("end: %v, want io.EOF", err)
		}
	}
	if h := r.Header(); h.MaxProcs != 8 || len(h.Lines) != 1 || h.Lines[0] != "; Note: late" {
		t.Errorf("header %+v", h)
	}
}

func TestBadLinesAreCalledBackAndCollected(t *testing.T) {
	long := strings.Repeat("1 ", swf.MaxLine)
	text := "; MaxProcs: lots\n" + goodA + "\n1 2 3\nx\n" + long + "\n" + goodB + "\n" + long
	var lines []int64
	r := swf.NewReader(strings.NewReader(text),
		swf.CollectBadLines(2), swf.OnBadLine(func(e *swf.LineError) { lines = append(lines, e.Line) }))
	if all := readAll(t, r); len(all) != 2 || all[0].ID != 1 || all[1].ID != 2 {
		t.Errorf("records %+v, want jobs 1 and 2", all)
	}
	want := []int64{1, 3, 4, 5, 7}
	if len(lines) != len(want) {
		t.Fatalf("called back for lines %v, want %v", lines, want)
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("called back for lines %v, want %v", lines, want)
		}
	}
	bad, n := r.BadLines()
	if len(bad) != 2 || n != 5 || bad[1].Line != 3 {
		t.Errorf("kept %v of %d, want 2 of 5", bad, n)
	}
}

func TestTooLongALineIsToldOnceAndTheNextIsRead(t *testing.T) {
	r := swf.NewReader(strings.NewReader(strings.Repeat(" ", 3*swf.MaxLine) + "\n" + goodB + "\n"))
	var rec swf.Record
	if err := r.Next(&rec); !errors.Is(err, swf.ErrLineTooLong) {
		t.Fatalf("got %v, want ErrLineTooLong", err)
	}
	if err := r.Next(&rec); err != nil || rec.ID != 2 || r.Line() != 2 {
		t.Fatalf("next: job %d at line %d, %v", rec.ID, r.Line(), err)
	}
}

func TestHeaderTroubleDoesNotStopAReaderWithoutOptions(t *testing.T) {
	r := swf.NewReader(strings.NewReader("; MaxProcs: lots\n" + goodA))
	if all := readAll(t, r); len(all) != 1 || len(r.Header().Lines) != 1 {
		t.Errorf("%d records, header lines %q", len(all), r.Header().Lines)
	}
}

func TestReadHeaderLosesNoRecord(t *testing.T) {
	r := swf.NewReader(strings.NewReader(mixed), swf.CollectBadLines(9))
	for range 2 { // the second call has nothing to do
		if err := r.ReadHeader(); err != nil || r.Header().MaxProcs != 8 {
			t.Fatalf("MaxProcs %d, %v; want 8", r.Header().MaxProcs, err)
		}
	}
	if all := readAll(t, r); len(all) != 2 {
		t.Errorf("%d records, want 2", len(all))
	}
	if err := swf.NewReader(strings.NewReader("")).ReadHeader(); err != nil {
		t.Errorf("empty file: %v", err)
	}
}

func TestErrorsOfTheReaderBelowComeThrough(t *testing.T) {
	boom := errors.New("disk on fire")
	r := swf.NewReader(io.MultiReader(strings.NewReader(goodA+"\n"), iotest.ErrReader(boom)), swf.CollectBadLines(9))
	var rec swf.Record
	if err := r.Next(&rec); err != nil {
		t.Fatal(err)
	}
	if err := r.Next(&rec); !errors.Is(err, boom) {
		t.Errorf("got %v, want the reader's error", err)
	}
}

func TestOpenTellsGzipByContent(t *testing.T) {
	dir := t.TempDir()
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(z, mixed); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"plain.swf": []byte(mixed), "plain.gz": []byte(mixed), "a.swf.gz": zipped.Bytes(), "zipped.swf": zipped.Bytes(),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := swf.Open(path, swf.CollectBadLines(9))
		if err != nil {
			t.Fatal(err)
		}
		all := readAll(t, f.Reader)
		bad, n := f.BadLines()
		if len(all) != 2 || n != 1 || bad[0].Name != path {
			t.Errorf("%s: %d records, bad lines %v", name, len(all), bad)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenAndReadTellAboutBrokenFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := swf.Open(filepath.Join(dir, "none.swf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, strings.Repeat(goodA+"\n", 100))
	_ = z.Close()
	for name, content := range map[string][]byte{
		"head.gz": {0x1f, 0x8b, 9}, "cut.gz": zipped.Bytes()[:zipped.Len()-12],
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := swf.Open(path)
		for err == nil {
			err = f.Next(new(swf.Record))
		}
		if errors.Is(err, io.EOF) {
			t.Errorf("%s: broken gzip was read as a whole file", name)
		}
		if f != nil {
			_ = f.Close()
		}
	}
}

func TestRecordsSurviveWritingAndReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any64 := func(name string) int64 {
			return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1, 1000)).Draw(t, name)
		}
		want := swf.Record{
			ID: any64("id"), Submit: any64("submit"), Wait: any64("wait"), Runtime: any64("run"),
			Allocated: any64("alloc"),
			CPUTime:   rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "cpu"), Memory: any64("mem"),
			RequestedProcs: any64("procs"), TimeLimit: any64("limit"), RequestedMem: any64("reqmem"),
			Status: any64("status"), User: any64("user"), Group: any64("group"), Executable: any64("exe"),
			Queue: any64("queue"), Partition: any64("partition"), Preceding: any64("prec"), ThinkTime: any64("think"),
		}
		var out bytes.Buffer
		w := swf.NewWriter(&out)
		if err := errors.Join(w.Write(&want), w.Flush()); err != nil {
			t.Fatal(err)
		}
		var got swf.Record
		if err := swf.NewReader(&out).Next(&got); err != nil || got != want {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

func TestWriterRefusesCPUTimesThatAreNotNumbers(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := swf.NewWriter(io.Discard).Write(&swf.Record{CPUTime: x}); err == nil {
			t.Errorf("CPU time %v was written", x)
		}
	}
}
