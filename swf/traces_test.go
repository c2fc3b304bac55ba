package swf_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/waitcast/waitcast/internal/refdata"
	"github.com/waitcast/waitcast/swf"
)

const kth = "traces/KTH-SP2-1996-2.1-cln.swf.gz"

// TestGoldenCounts compares jobs, processors, jobs that never ran and the number of queues with the table of
// traces/README.md. It compares the sums of runtimes above 0 and of processors with a count of the text by awk.
func TestGoldenCounts(t *testing.T) {
	for _, c := range []struct {
		file                 string
		jobs, never, queues  int
		procs                int64
		runtimes, processors int64
		queue                string // a queue that must occur
	}{
		{"KTH-SP2-1996-2.1-cln", 28476, 0, 1, 100, 252634875, 218052, "default"},
		{"CTC-SP2-1996-3.1-cln", 77222, 0, 4, 338, 870842096, 848303, "piofs"},
		{"SDSC-SP2-1998-4.2-cln", 59715, 5681, 6, 128, 399341974, 821341, "express"},
		{"SDSC-Par-1996-3.1-cln", 32135, 0, 30, 400, 281283693, 588089, "q64l"},
		{"LANL-CM5-1994-4.1-cln", 122060, 0, 17, 1024, 315114794, 12369725, "scavenge_production"},
		{"DOST-ASTI_COARE-Saliksik-2020-cln", 19760, 0, 4, 1728, 589084397, 400334, "gpu"},
		{"NASA-iPSC-1993-3.1-cln", 18239, 0, 1, 128, 13950781, 309953, "default"},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, err := swf.Open(refdata.Shared(t, "traces/"+c.file+".swf.gz"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}()
			jobs, never, runtimes, processors, queues := 0, 0, int64(0), int64(0), map[string]int{}
			for _, r := range readAll(t, f.Reader) {
				jobs++
				if !r.Ran() {
					never++
				}
				runtimes += max(r.Runtime, 0)
				processors += r.Procs()
				queues[f.Header().QueueName(&r)]++
			}
			if jobs != c.jobs || never != c.never || len(queues) != c.queues || queues[c.queue] == 0 {
				t.Errorf("%d jobs, %d never ran, queues %v; want %d, %d, %d queues with %q",
					jobs, never, queues, c.jobs, c.never, c.queues, c.queue)
			}
			if runtimes != c.runtimes || processors != c.processors || f.Header().MaxProcs != c.procs {
				t.Errorf("sums %d and %d on %d processors; want %d and %d on %d",
					runtimes, processors, f.Header().MaxProcs, c.runtimes, c.processors, c.procs)
			}
		})
	}
}

// kthText returns the unpacked KTH log.
func kthText(b *testing.B) []byte {
	file, err := os.Open(refdata.Shared(b, kth))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	z, err := gzip.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func perSecond(b *testing.B, lines int) {
	b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkParseRecordKTH(b *testing.B) {
	var lines [][]byte
	for line := range bytes.Lines(kthText(b)) {
		if line[0] != ';' {
			lines = append(lines, line)
		}
	}
	var r swf.Record
	b.ReportAllocs()
	for b.Loop() {
		for _, line := range lines {
			if err := swf.ParseRecord(line, &r); err != nil {
				b.Fatal(err)
			}
		}
	}
	perSecond(b, len(lines))
}

func drain(b *testing.B, r *swf.Reader) (n int) {
	var rec swf.Record
	for {
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func BenchmarkReaderKTH(b *testing.B) {
	text := kthText(b)
	n := 0
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		n = drain(b, swf.NewReader(bytes.NewReader(text)))
	}
	perSecond(b, n)
}

func BenchmarkOpenGzipKTH(b *testing.B) {
	path, n := refdata.Shared(b, kth), 0
	for b.Loop() {
		f, err := swf.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		n = drain(b, f.Reader)
		_ = f.Close()
	}
	perSecond(b, n)
}

func BenchmarkWriterKTH(b *testing.B) {
	r := swf.NewReader(bytes.NewReader(kthText(b)))
	var all []swf.Record
	var rec swf.Record
	for r.Next(&rec) == nil {
		all = append(all, rec)
	}
	w := swf.NewWriter(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		for i := range all {
			if err := w.Write(&all[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
	perSecond(b, len(all))
}
