package history_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/sge"
	"github.com/waitcast/waitcast/collector/source"
	"github.com/waitcast/waitcast/history"
)

// samples returns a file of each format in which the byte order mark of a text may stand.
func samples() map[string]string {
	return map[string]string{
		"pbs": "07/03/2024 14:05:00;E;9.srv;user=ann queue=batch ctime=1720008000 start=1720008060 end=1720008300 " +
			"Resource_List.ncpus=1\n",
		"swf": "; UnixStartTime: 1720008000\n1 0 60 240 1 -1 -1 1 600 -1 1 1 1 1 1 -1 -1 -1\n",
		"slurm-sacct": "JobID|State|Submit|Start|End|NCPUS\n" +
			"1|COMPLETED|2024-07-03T12:00:00|2024-07-03T12:01:00|2024-07-03T12:05:00|1\n",
		"slurm-sacct-json": `{"jobs":[{"job_id":1,"user":"ann","required":{"CPUs":1},` +
			`"state":{"current":["COMPLETED"]},"time":{"submission":1720008000,"eligible":1720008000,` +
			`"start":1720008060,"end":1720008300},` +
			`"tres":{"allocated":[{"type":"cpu","count":1}],"requested":[]}}]}`,
		"sge-accounting": "all.q:n1:staff:ann:cfd:7:sge:0:1720008000:1720008060:1720008300:0:0:300:0.1:0.1:1.0:0:0:0:" +
			"0:552:1:0:328.0:16:0:0:0:15:20:NONE:defaultdepartment:mpi:8:0:0.2:0.0:0.0:NONE:0.0:NONE:3723264.0:0:0\n",
		"lsf-acct": `"JOB_FINISH" "7.06" 1720008300 9 501 33816627 1 1720008000 0 0 1720008060 "ann" "q" "" "" "" ` +
			`"h" "d" "" "" "" "f" 0 1 "n1" 64 60.0 "x" "run" 1 1 0 0 -1 0 0 0 0 0 0 0 -1 0 0 0 0 0 -1 "" "default" ` +
			`0 1 "" "" 0` + "\n",
	}
}

// TestByteOrderMark reads files of every format with the byte order mark of UTF-8 in front, with and without the name
// of the format.
func TestByteOrderMark(t *testing.T) {
	for format, text := range samples() {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte("\ufeff"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, named := range []string{"", format} {
			bad := 0
			h, err := history.Read(t.Context(), []string{path}, history.Config{
				Formats: history.Formats(time.Now), Format: named, Now: time.Now(),
				Options: collector.Options{Location: time.UTC}, OnBad: func(source.BadLine) { bad++ },
			})
			if err != nil {
				t.Errorf("%s %q: %v", format, named, err)
				continue
			}
			ended := false
			err = h.Each(func(ev *history.Event) error {
				ended = ended || ev.Time.Unix() == 1720008300
				return nil
			})
			if err = errors.Join(err, h.Close()); err != nil || !ended || bad > 0 || h.Files[0].Format != format {
				t.Errorf("%s %q: ended %t, %d bad, format %s, %v", format, named, ended, bad, h.Files[0].Format, err)
			}
		}
	}
}

// TestGridwareJSON proves that the accounting of the Gridware Cluster Scheduler is named without the name of a format.
func TestGridwareJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "accounting.jsonl")
	line := `{"job_number":7,"task_number":0,"start_time":1720008000000000,"owner":"ann"}` + "\n"
	if err := os.WriteFile(path, []byte(line+line), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := history.Config{Formats: history.Formats(time.Now), Now: time.Now()}
	_, err := history.Read(t.Context(), []string{path}, cfg)
	if !errors.Is(err, sge.ErrJSON) {
		t.Errorf("%v", err)
	}
}

// TestUTF16 proves that a text in UTF-16 is named as such, with and without its mark.
func TestUTF16(t *testing.T) {
	for format, text := range samples() {
		if format == "slurm-sacct-json" {
			continue
		}
		for _, mark := range []string{"", "\ufeff"} {
			var raw []byte
			for _, unit := range utf16.Encode([]rune(mark + text)) {
				raw = append(raw, byte(unit), byte(unit>>8))
			}
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			cfg := history.Config{Formats: history.Formats(time.Now), Now: time.Now()}
			if _, err := history.Read(t.Context(), []string{path}, cfg); !errors.Is(err, source.ErrUTF16) {
				t.Errorf("%s, mark %q: %v", format, mark, err)
			}
			var first error
			cfg.Format, cfg.OnBad = format, func(b source.BadLine) {
				if first == nil {
					first = b.Err
				}
			}
			h, err := history.Read(t.Context(), []string{path}, cfg)
			if err != nil || !errors.Is(first, source.ErrUTF16) {
				t.Errorf("%s, mark %q: %v, %v", format, mark, first, err)
				continue
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
