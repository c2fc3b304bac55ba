package pbs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/collector/pbs"
	"github.com/waitcast/waitcast/job"
)

// parseZone parses a log in a zone, with or without a survey of it before. It returns each event's id, kind and Unix
// time, and the notices.
func parseZone(t *testing.T, loc *time.Location, text string, survey bool) (got, notices []string) {
	t.Helper()
	p := pbs.Format().New(collector.Options{Location: loc,
		Notice: func(e *collector.LineError) { notices = append(notices, e.Error()) }}).(collector.Zoned)
	for line := range strings.Lines(text) {
		if !survey || p.Survey([]byte(line)) {
			break
		}
	}
	for line := range strings.Lines(text) {
		if err := p.Parse([]byte(line), func(ev job.Event) {
			id, _, _ := strings.Cut(ev.ID, ".")
			got = append(got, fmt.Sprint(id, " ", ev.Kind, " ", ev.Time.Unix()))
		}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	return got, notices
}

const (
	queued  = "%s;Q;%d.srv;queue=batch\n"
	deleted = "%s;D;%d.srv;requestor=ann@x\n"
	began   = "%s;S;%d.srv;user=ann queue=batch ctime=%d start=%d Resource_List.ncpus=1\n"
	ended   = "%s;E;%d.srv;user=ann queue=batch ctime=%d start=%d end=%d Resource_List.ncpus=1\n"
)

// TestWrongZone reads a log of a server at UTC-7 as if it were in UTC. S and E records show the difference, by which
// the times of Q and D records are corrected.
func TestWrongZone(t *testing.T) {
	text, err := os.ReadFile("testdata/zone/utc-7")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"9 submit 1720008000", "9 start 1720008600", "9 end 1720010400", "10 submit 1720010460",
		"10 cancel 1720010520", "11 submit 1720010580"}
	got, notices := parseZone(t, time.UTC, string(text), true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "7h0m0s") || !strings.Contains(notices[0], "time_zone") {
		t.Errorf("notices %q", notices)
	}
	right, notices := parseZone(t, time.FixedZone("", -7*3600), string(text), true)
	if diff := cmp.Diff(want, right); diff != "" || len(notices) > 0 {
		t.Errorf("in the right zone: %q (-want +got):\n%s", notices, diff)
	}
	want[0] = "9 submit 1719982800" // without a survey, nothing is known at the first record
	got, notices = parseZone(t, time.UTC, string(text), false)
	if diff := cmp.Diff(want, got); diff != "" || len(notices) != 1 {
		t.Errorf("without a survey: %q (-want +got):\n%s", notices, diff)
	}
}

// TestZoneOfHalfHours reads a log of India as if it were of Berlin, over the day on which Berlin's clocks change.
func TestZoneOfHalfHours(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	var want []string
	india := time.FixedZone("IST", 5*3600+1800)
	for i, day := range []int{29, 30, 31, 32, 33} { // from 29 March 2024 on
		at := time.Date(2024, 3, day, 12, 0, 0, 0, india)
		stamp := func(after int) string {
			return at.Add(time.Duration(after) * time.Second).Format("01/02/2006 15:04:05")
		}
		u := at.Unix()
		fmt.Fprintf(&text, began, stamp(1), i, u-100, u)
		fmt.Fprintf(&text, queued+deleted, stamp(60), 10+i, stamp(70), 10+i)
		want = append(want, fmt.Sprint(i, " start ", u), fmt.Sprint(10+i, " submit ", u+60),
			fmt.Sprint(10+i, " cancel ", u+70))
	}
	got, notices := parseZone(t, berlin, text.String(), true)
	if diff := cmp.Diff(want, got); diff != "" || len(notices) != 2 {
		t.Errorf("%q (-want +got):\n%s", notices, diff)
	}
}

// TestRightZoneIsKept proves that late records of ends, and clocks that differ a little, are no reason to correct.
func TestRightZoneIsKept(t *testing.T) {
	const u = 1720008000 // 12:00:00 UTC
	text := fmt.Sprintf(began, "07/03/2024 12:00:02", 1, u-10, u) +
		fmt.Sprintf(ended, "07/03/2024 13:00:00", 1, u-10, u, u+60) + // an hour late
		fmt.Sprintf(queued, "07/03/2024 13:00:01", 2) +
		fmt.Sprintf(began, "07/03/2024 13:07:00", 3, u-10, u) + // restarted server: neither prompt nor a zone
		fmt.Sprintf(queued, "07/03/2024 13:08:00", 4)
	got, notices := parseZone(t, time.UTC, text, true)
	want := []string{"1 start 1720008000", "1 end 1720008060", "2 submit 1720011601", "3 start 1720008000",
		"4 submit 1720012080"}
	if diff := cmp.Diff(want, got); diff != "" || len(notices) > 0 {
		t.Errorf("%q (-want +got):\n%s", notices, diff)
	}
}

// TestZoneByEnds measures the difference in a log that has no starts.
func TestZoneByEnds(t *testing.T) {
	const u = 1720008000
	text := fmt.Sprintf(queued, "07/03/2024 20:00:00", 1) +
		fmt.Sprintf(ended, "07/03/2024 20:10:00", 2, u, u+10, u+600) +
		fmt.Sprintf(ended, "07/03/2024 20:20:01", 3, u, u+10, u+1200) + fmt.Sprintf(deleted, "07/03/2024 20:30:00", 1)
	got, notices := parseZone(t, time.UTC, text, true)
	want := []string{"1 submit 1720008000", "2 end 1720008600", "3 end 1720009200", "1 cancel 1720009800"}
	if diff := cmp.Diff(want, got); diff != "" || len(notices) != 1 || !strings.Contains(notices[0], "-8h0m0s") {
		t.Errorf("%q (-want +got):\n%s", notices, diff)
	}
}

// TestZoneIsRestored continues after a restart.
func TestZoneIsRestored(t *testing.T) {
	p := pbs.Format().New(collector.Options{Location: time.UTC}).(collector.Zoned)
	p.SetShift(7 * time.Hour)
	var got int64
	if err := p.Parse(fmt.Appendf(nil, queued, "07/03/2024 05:00:00", 1), func(ev job.Event) {
		got = ev.Time.Unix()
	}); err != nil || got != 1720008000 || p.Shift() != 7*time.Hour {
		t.Errorf("%d, %v, %s", got, err, p.Shift())
	}
}

// TestByteOrderMark reads a record after a byte order mark.
func TestByteOrderMark(t *testing.T) {
	text, err := os.ReadFile("testdata/zone/bom")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := parseZone(t, time.UTC, string(text), true); len(got) != 1 || got[0] != "102 end 1218495854" {
		t.Errorf("%q", got)
	}
}
