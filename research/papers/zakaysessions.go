package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/swf"
	"github.com/waitcast/waitcast/workload/users"
)

// sessionRow is a row of Tables II to IV. It has two comparisons: of pairs of jobs in the same session with pairs one
// session apart, and of pairs one session apart with pairs two sessions apart. Each has the shares of users whose jobs
// are more similar at the shorter distance, equally similar, and more similar at the longer one.
type sessionRow [2][3]float64

// sessionTable is one of Tables II to IV.
type sessionTable struct {
	title string
	of    func(*swf.Record) float64
	rows  map[string]sessionRow // by the label of the log
	// reason explains how the results deviate from the table.
	reason string
}

func sessionTables() []sessionTable {
	return []sessionTable{
		{
			title: "Table II: similarity by sessions, CPU number",
			of:    func(r *swf.Record) float64 { return float64(r.Allocated) },
			rows: map[string]sessionRow{
				"LANL":     {{.727, .0160, .257}, {.663, .0053, .332}},
				"CTC":      {{.722, .0152, .262}, {.670, .0325, .300}},
				"KTH":      {{.782, .0075, .211}, {.692, .0150, .293}},
				"SDSC-SP2": {{.771, .0120, .217}, {.747, .0080, .245}},
			},
			reason: "Users whose jobs all have one size are as alike at every distance: in the logs they are 9 to " +
				"26 % of the users, in the paper 0 to 3 %. If half of them counted on either side, as rounding " +
				"errors of means would have it, the other shares would be within .033 of the paper's. The paper does " +
				"not say so, and the rows are held for not reproduced.",
		},
		{
			title: "Table III: similarity by sessions, maximum running time",
			of:    func(r *swf.Record) float64 { return float64(r.TimeLimit) },
			rows: map[string]sessionRow{
				"LANL":     {{.765, .1016, .134}, {.668, .1016, .230}},
				"CTC":      {{.757, .1041, .139}, {.705, .1085, .187}},
				"KTH":      {{.895, .0075, .098}, {.789, .0150, .195}},
				"SDSC-SP2": {{.791, .0924, .116}, {.795, .0924, .112}},
			},
			reason: "The paper's conclusion, that most users' jobs are more alike within a session than one session " +
				"apart, and one than two apart, holds in every row.",
		},
		{
			title: "Table IV: similarity by sessions, running time",
			of:    func(r *swf.Record) float64 { return float64(r.Runtime) },
			rows: map[string]sessionRow{
				"LANL":     {{.733, 0, .267}, {.711, .0053, .283}},
				"CTC":      {{.829, .0043, .167}, {.722, .0065, .271}},
				"KTH":      {{.827, .0075, .165}, {.684, 0, .316}},
				"SDSC-SP2": {{.759, 0, .241}, {.759, .0040, .237}},
			},
			reason: "KTH one against two sessions apart is far off, and why is not known. The paper's conclusion " +
				"holds in every row, of 68 % of the users there and 75 % or more here.",
		},
	}
}

// sessionReading is an interpretation of the similarity of sessions in the paper.
type sessionReading struct {
	name string
	// A session ends if no submission follows within gap seconds after its last submission. With byEnds the gap counts
	// from the last end of the session's jobs instead.
	gap    float64
	byEnds bool
	least  int  // users with fewer sessions do not count
	pooled bool // average over all pairs of jobs, not first over each pair of sessions
}

// alike returns the similarity of two values by the paper: the smaller divided by the larger. Equal values have 1;
// other values have 0 if the smaller one is not positive.
func alike(a, b float64) float64 {
	switch {
	case a == b:
		return 1
	case min(a, b) <= 0:
		return 0
	}
	return min(a, b) / max(a, b)
}

// split returns the indexes at which sessions begin in jobs, the jobs of one user in order of submission. The last
// element of the result is the number of jobs.
func (r *sessionReading) split(jobs []*swf.Record) (starts []int) {
	end := math.Inf(-1)
	for i, j := range jobs {
		if float64(j.Submit) > end+r.gap {
			starts = append(starts, i)
			end = math.Inf(-1)
		}
		done := float64(j.Submit)
		if r.byEnds {
			done += float64(max(j.Wait, 0) + j.Runtime)
		}
		end = max(end, done)
	}
	return append(starts, len(jobs))
}

// similarities returns the mean similarities between jobs of a user that are 0, 1 and 2 sessions apart. ok is false if
// the user has too few sessions or lacks such jobs.
func (r *sessionReading) similarities(jobs []*swf.Record, of func(*swf.Record) float64) (mean [3]float64, ok bool) {
	starts := r.split(jobs)
	if len(starts)-1 < r.least {
		return mean, false
	}
	var weights [3]float64
	for s := range len(starts) - 1 {
		for apart := range mean {
			if s+apart+1 >= len(starts) {
				continue
			}
			sum, n := 0.0, 0.0
			for i := starts[s]; i < starts[s+1]; i++ {
				for k := max(starts[s+apart], i+1); k < starts[s+apart+1]; k++ {
					sum, n = sum+alike(of(jobs[i]), of(jobs[k])), n+1
				}
			}
			if n == 0 {
				continue
			}
			weight := 1.0
			if r.pooled {
				weight = n
			}
			mean[apart], weights[apart] = mean[apart]+weight*sum/n, weights[apart]+weight
		}
	}
	for apart, w := range weights {
		if w == 0 {
			return mean, false
		}
		mean[apart] /= w
	}
	return mean, true
}

// shares returns a row of a table, and the number of users who count in it. of selects the attribute that is compared.
func (r *sessionReading) shares(byUser [][]*swf.Record, of func(*swf.Record) float64) (row sessionRow, n int) {
	for _, jobs := range byUser {
		mean, ok := r.similarities(jobs, of)
		if !ok {
			continue
		}
		n++
		for k := range row {
			row[k][1+cmp.Compare(mean[k+1], mean[k])]++
		}
	}
	for k := range row {
		for i := range row[k] {
			row[k][i] /= float64(max(n, 1))
		}
	}
	return row, n
}

// byUser returns a list for each user, with the user's jobs that count, in the order of submission.
func (l *tracelog) byUser() (out [][]*swf.Record) {
	of := map[int64]int{}
	for i := range l.records {
		r := &l.records[i]
		if !counts(r) || r.User < 0 {
			continue
		}
		at, ok := of[r.User]
		if !ok {
			at = len(out)
			of[r.User] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], r)
	}
	for _, jobs := range out {
		slices.SortStableFunc(jobs, func(a, b *swf.Record) int { return cmp.Compare(a.Submit, b.Submit) })
	}
	return out
}

// sessionReadings returns the readings. The tables show the results of the first one.
func sessionReadings() []sessionReading {
	const minutes = 60
	return []sessionReading{
		{name: "as here", gap: users.SessionGap, least: 6, pooled: true},
		{name: "means over pairs of sessions", gap: users.SessionGap, least: 6},
		{name: "users of at least 3 sessions", gap: users.SessionGap, least: 3, pooled: true},
		{name: "sessions that end 20 minutes after the last submit", gap: 20 * minutes, least: 6, pooled: true},
		{name: "sessions that end 20 minutes after the last end", gap: 20 * minutes, byEnds: true, least: 6,
			pooled: true},
	}
}

// sessionBound is the promised maximum difference between a share and that in the paper. It was set before the first
// run, for another reading.
const sessionBound = .05

// zakaySessions makes one of Tables II to IV.
func (d *Data) zakaySessions(of *sessionTable) (Table, error) {
	t := Table{Title: of.title, Standing: UnderReading}
	readings := sessionReadings()
	off := make([]float64, len(readings))
	users := make([][]string, len(readings))
	for _, log := range zakayLogs() {
		l, err := d.log(log.name)
		if err != nil {
			return t, err
		}
		people, want := l.byUser(), of.rows[log.label]
		for i := range readings {
			got, n := readings[i].shares(people, of.of)
			users[i] = append(users[i], fmt.Sprint(n))
			for k := range want {
				if i == 0 {
					t.promise(Paper, fmt.Sprintf("%s: %d vs %d sessions apart", log.label, k, k+1), threeShares(got[k]),
						threeShares(want[k]), "", "each within .05", farthest(got[k], want[k]) <= sessionBound)
				}
				off[i] += farthest(got[k], want[k]) / float64(len(want)*len(zakayLogs()))
			}
		}
	}
	var all []string
	for i := range readings {
		all = append(all, fmt.Sprintf("%s %.3f (%s)", readings[i].name, off[i], strings.Join(users[i], ", ")))
	}
	t.choose("sessions that end where no submit follows within an hour, users of at least 6 sessions, and means over "+
		"all pairs of jobs so many sessions apart. The mean of the rows' largest differences from the paper, and in "+
		"brackets the users of KTH, CTC, LANL and SDSC-SP2, which by the paper's shares were 133, 461, 187 and 249: "+
		"%s. The reading was found in three rounds of comparing with the paper: four readings, then these rules of "+
		"sessions with six least numbers of them (3, 4, 5, 6, 8 and 10), then two kinds of means. The bound of .05 "+
		"was set before the first round, for means over pairs of sessions of users of at least 3 sessions, which "+
		"missed it.", strings.Join(all, "; "))
	t.because("%s", of.reason)
	return t, nil
}

// threeShares formats the three shares of a comparison.
func threeShares(x [3]float64) string { return fmt.Sprintf("%.3f, %.4f, %.3f", x[0], x[1], x[2]) }

// farthest returns the largest difference between the shares of two comparisons.
func farthest(a, b [3]float64) (most float64) {
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}
