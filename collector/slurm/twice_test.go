package slurm

import (
	"fmt"
	"testing"
	"time"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/job"
)

// TestTwice covers the hour that occurs twice when clocks are set back, and the hour that they skip. It proves that
// jobs of jobcomp whose lives span such an hour are kept, that their lifetimes are at least 0, and that their instants
// are in order. For a line that was written just now, the instant nearer to now counts.
func TestTwice(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []time.Time{
		time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC),
	} {
		for _, prompt := range []bool{false, true} {
			for begin := -100; begin <= 100; begin += 5 {
				for _, minutes := range []int{0, 20, 45, 70, 200} {
					start := change.Add(time.Duration(begin) * time.Minute)
					end := start.Add(time.Duration(minutes) * time.Minute)
					p := Jobcomp().New(collector.Options{Cluster: "c", Location: berlin})
					if prompt {
						p.(collector.Dated).ReadAt(end.Add(time.Second))
					}
					local := func(t time.Time) string { return t.In(berlin).Format("2006-01-02T15:04:05") }
					line := fmt.Sprintf("JobId=7 UserId=u(1) GroupId=g(1) Name=x JobState=COMPLETED Partition=work "+
						"TimeLimit=60 StartTime=%s EndTime=%s NodeList=n1 NodeCnt=1 ProcCnt=4 "+
						"WorkDir=/ ReservationName= Tres=cpu=4 Account=a QOS=normal WcKey= Cluster=c SubmitTime=%s "+
						"EligibleTime=%s DerivedExitCode=0:0 ExitCode=0:0",
						local(start), local(end), local(start), local(start))
					var got []job.Event
					if err := p.Parse([]byte(line), func(ev job.Event) { got = append(got, ev) }); err != nil ||
						len(got) != 1 {
						t.Fatalf("a job from %s to %s: %v, %d events", start, end, err, len(got))
					}
					ev := got[0]
					if ev.Times.End.Before(ev.Times.Start) || ev.Times.Start.Before(ev.Times.Submit) ||
						!ev.Time.Equal(ev.Times.End) {
						t.Errorf("a job from %s to %s is read as %+v", start, end, ev.Times)
					}
					if prompt && !ev.Times.End.Equal(end) {
						t.Errorf("an end at %s that was written just now is read as %s", end, ev.Times.End)
					}
				}
			}
		}
	}
}
