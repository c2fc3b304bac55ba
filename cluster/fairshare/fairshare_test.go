package fairshare

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waitcast/waitcast/internal/codec"
	"github.com/waitcast/waitcast/job"
)

// recorded is one answer of a real Slurm's sshare, as facts.
type recorded struct {
	facts     *job.Facts
	at        float64 // in seconds since 1970
	factors   map[association]float64
	algorithm string
}

// ran is a job of the recording.
type ran struct {
	association
	procs      int
	start, end float64
}

// recording reads testdata/slurm-22.05.txt, whose first lines say how it was made.
func recording(t *testing.T) (all []recorded, jobs []ran) {
	t.Helper()
	text, err := os.ReadFile("testdata/slurm-22.05.txt")
	if err != nil {
		t.Fatal(err)
	}
	var above []string // accounts by depth
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case words[0] == "job":
			procs, _ := strconv.Atoi(words[3])
			jobs = append(jobs, ran{association{words[2], words[1]}, procs, number(words[4]), number(words[5])})
		case words[0] == "==":
			r := recorded{at: number(words[2]), algorithm: words[1], factors: map[association]float64{},
				facts: &job.Facts{Weights: &job.Weights{
					FairShare: 2000, HalfLife: 5 * time.Minute, Period: time.Minute}}}
			switch words[1] {
			case "NO_FAIR_TREE":
				r.facts.Weights.Flags = []string{"NO_FAIR_TREE"}
			case "DEPTH_OBLIVIOUS":
				r.facts.Weights.Flags = []string{"DEPTH_OBLIVIOUS", "NO_FAIR_TREE"}
			}
			all = append(all, r)
		default:
			above = all[len(all)-1].add(line, above)
		}
	}
	return all, jobs
}

// add adds a line of sshare. above holds the accounts above the line's account, by depth.
func (r *recorded) add(line string, above []string) []string {
	name := strings.TrimLeft(line, " ")
	depth := len(line) - len(name)
	f := strings.Split(name, "|") // Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS
	raw, _ := strconv.Atoi(f[2])
	s := job.Share{Account: f[0], User: f[1], Raw: raw, AsParent: f[2] == "parent", Usage: number(f[4])}
	if s.User != "" {
		r.factors[association{s.Account, s.User}] = number(f[7])
		s.Factor = math.Round(number(f[7])*100) / 100
		r.facts.Shares = append(r.facts.Shares, s)
		return above
	}
	r.facts.AccountShares = append(r.facts.AccountShares, s)
	a := job.Account{Name: s.Account}
	if depth > 0 {
		a.Parent = above[depth-1]
	}
	r.facts.Accounts = append(r.facts.Accounts, a)
	return append(above[:depth:depth], s.Account)
}

func number(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// TestFactorsOfARealSlurm proves that the shares and the usage that sshare printed give the factors that sshare
// printed, under Fair Tree to the last digit. The classic algorithms use the accounts' usage at the previous
// computation. For users they use the usage at the time when the jobs are processed, one after the other.
func TestFactorsOfARealSlurm(t *testing.T) {
	all, _ := recording(t)
	if len(all) != 9 {
		t.Fatalf("%d answers, want 9", len(all))
	}
	compared := 0
	for i, r := range all {
		tree := New(r.facts)
		if tree == nil || tree.Owners() != 13 {
			t.Fatalf("at %.0f: no tree of 13 users", r.at)
		}
		u, within := NewUsage(tree), 1e-6
		if r.algorithm != "FAIR_TREE" {
			if all[i-1].algorithm != r.algorithm {
				continue
			}
			before := NewUsage(New(all[i-1].facts))
			for n := range tree.nodes {
				if !tree.nodes[n].user {
					u.values[n] = before.values[n] / before.values[root] * u.values[root]
				}
			}
			within = .03
		}
		got := NewCalculator(tree).Factors(u)
		for of, want := range r.factors {
			compared++
			if f := got[tree.Owner(of.account, of.user)]; math.Abs(f-want) > within {
				t.Errorf("%s at %.0f: %s in %s has %.6f, want %.6f", r.algorithm, r.at, of.user, of.account, f, want)
			}
		}
	}
	if compared != 7*13 {
		t.Errorf("%d factors were compared, want 91", compared)
	}
}

// TestUsageOfARealSlurm computes usage from the usage that sshare printed and from the jobs that ran. It proves that
// the result is the usage that sshare printed a minute later. sshare prints whole numbers, and a job's end is noticed
// some seconds late. Limits were not enforced, so the usage of a job after the last computation before its end is not
// counted.
func TestUsageOfARealSlurm(t *testing.T) {
	all, jobs := recording(t)
	const first = 1795457642 // the computation before the first answer
	compared := 0
	for i := range all[1:5] { // of the cluster whose jobs are listed
		before, after := New(all[i].facts), all[i+1]
		u := NewUsage(before)
		at := first + 60*float64(i+1)
		u.Decay(60)
		for _, j := range jobs {
			if owner := before.Owner(j.account, j.user); j.start < at && !(j.end <= at) {
				u.Grow(owner, before.Rate(j.procs, "normal"), math.Min(60, at-j.start))
			}
		}
		want := NewUsage(New(after.facts))
		for o := int32(1); int(o) <= before.Owners(); o++ {
			if got, want := u.Of(o), want.Of(o); math.Abs(got-want) > 4 {
				t.Errorf("at %.0f owner %d has used %.1f, want %.1f", after.at, o, got, want)
			}
			if want.Of(o) > 0 {
				compared++
			}
		}
	}
	if compared < 20 {
		t.Fatalf("only %d usages were compared", compared)
	}
}

// TestEndsCount proves that if limits are enforced, a job that ends between two computations counts up to its end, and
// otherwise only up to the previous computation.
func TestEndsCount(t *testing.T) {
	all, _ := recording(t)
	facts := *all[0].facts
	for _, enforced := range []bool{false, true} {
		facts.Enforced.Limits = enforced
		tree := New(&facts)
		u := NewUsage(tree)
		owner := tree.Owner("physics", "root")
		u.GrowAt(owner, 2, 30, 40)
		want := 0.
		if enforced {
			want = 2 * 30 * math.Pow(1-math.Ln2/300, 30)
		}
		if got := u.Of(owner); math.Abs(got-want) > 1e-9 {
			t.Errorf("limits enforced %v: %v, want %v", enforced, got, want)
		}
	}
}

// TestSkippedComputations proves that one computation for many periods gives the same usage as many computations one
// after the other, for jobs that continue and for jobs that end in between.
func TestSkippedComputations(t *testing.T) {
	all, _ := recording(t)
	facts := *all[0].facts
	rapid.Check(t, func(t *rapid.T) {
		facts.Enforced.Limits = rapid.Bool().Draw(t, "limits")
		w := *facts.Weights
		w.HalfLife = time.Duration(rapid.IntRange(0, 600).Draw(t, "half-life")) * time.Minute
		facts.Weights = &w
		tree := New(&facts)
		owner := int32(rapid.IntRange(1, tree.Owners()).Draw(t, "owner"))
		periods := rapid.IntRange(1, 40).Draw(t, "periods")
		procs := float64(rapid.IntRange(1, 9).Draw(t, "procs"))
		ends := 60 * float64(periods+1) // this job continues
		if rapid.Bool().Draw(t, "ends") {
			ends = float64(rapid.IntRange(1, 60*periods-1).Draw(t, "end"))
		}
		one, many := NewUsage(tree), NewUsage(tree)
		for i := range periods {
			from, to := 60*float64(i), 60*float64(i+1)
			if ends > from && ends < to {
				one.GrowAt(owner, procs, ends-from, ends-from)
			}
			one.Decay(60)
			if ends >= to {
				one.Grow(owner, procs, 60)
			}
		}
		if ends < 60*float64(periods) {
			many.GrowAt(owner, procs, ends, ends)
		}
		many.Decay(60 * float64(periods))
		if ends >= 60*float64(periods) {
			many.Grow(owner, procs, 60*float64(periods))
		}
		if a, b := one.Of(owner), many.Of(owner); math.Abs(a-b) > .02*a+1 {
			t.Fatalf("%v, one after the other %v", b, a)
		}
	})
}

// TestLongDecay proves that usage falls by half with each half-life, also over a time in which it falls below the
// smallest number. Usage by others during that time still has its right value.
func TestLongDecay(t *testing.T) {
	all, _ := recording(t)
	tree := New(all[0].facts)
	u := NewUsage(tree)
	used, other := tree.Owner("physics", "games"), tree.Owner("physics", "root")
	before := u.Of(used)
	if u.Decay(300); math.Abs(u.Of(used)/before-.5) > .001 {
		t.Errorf("after a half-life %v of %v is left", u.Of(used), before)
	}
	for range 1000 {
		u.Decay(3600)
	}
	u.Grow(other, 4, 10)
	if got := u.Of(other); math.Abs(got-4*10*math.Pow(1-math.Ln2/300, 10)) > 1e-9 || !(u.Of(used) < 1e-9) {
		t.Errorf("usage %v and %v after six weeks", u.Of(used), got)
	}
	f := NewCalculator(tree).Factors(u)
	if !(f[used] > f[other]) {
		t.Errorf("factors %v of who used long ago, %v of who used just now", f[used], f[other])
	}
}

// TestWithoutShares proves that facts without usage have no tree, and that age still changes priorities.
func TestWithoutShares(t *testing.T) {
	shares := []job.Share{{Account: "a", User: "u", Factor: .5}}
	for name, facts := range map[string]*job.Facts{
		"none": nil, "no weights": {Shares: shares}, "no usage": {Weights: &job.Weights{FairShare: 1}, Shares: shares},
	} {
		if New(facts) != nil || NewPriorities(facts) != nil {
			t.Errorf("%s: a tree, or priorities", name)
		}
	}
	p := NewPriorities(&job.Facts{Weights: &job.Weights{Age: 100, FairShare: 1, MaxAge: time.Hour}, Shares: shares})
	if p == nil || p.Tree != nil || p.Owner("a", "u") != None || p.Period != 300 || p.AgeFactor(1800) != .5 ||
		p.AgeFactor(7200) != 1 || p.AgeFactor(-1) != 0 {
		t.Errorf("priorities of age alone: %+v", p)
	}
}

// TestOwners proves that a user is found in a given account, in any letter case. If no account is given, the user is
// found in the account with the highest usage.
func TestOwners(t *testing.T) {
	all, _ := recording(t)
	tree := New(all[1].facts)
	if a, b := tree.Owner("LAB2", "news"), tree.Owner("", "news"); a == None || a != b {
		t.Errorf("news in lab2 is %d, without an account %d", a, b)
	}
	if tree.Owner("lab2", "games") != None || tree.Owner("", "nobody") != None {
		t.Error("somebody is found who is not there")
	}
}

// TestCircle proves that accounts that are below each other are left out without an endless loop.
func TestCircle(t *testing.T) {
	tree := New(&job.Facts{Weights: &job.Weights{FairShare: 1},
		Accounts:      []job.Account{{Name: "a", Parent: "b"}, {Name: "b", Parent: "a"}, {Name: "c", Parent: "root"}},
		AccountShares: []job.Share{{Account: "a", Raw: 1}, {Account: "b", Raw: 1}, {Account: "c", Raw: 1}},
		Shares:        []job.Share{{Account: "a", User: "u", Raw: 1}, {Account: "c", User: "v", Raw: 1}}})
	if tree.Owners() != 1 || tree.Owner("c", "v") == None {
		t.Errorf("%d users", tree.Owners())
	}
}

// TestPrioritiesAreSaved proves that priorities and usage survive saving and restoring.
func TestPrioritiesAreSaved(t *testing.T) {
	all, _ := recording(t)
	p, again := NewPriorities(all[3].facts), (*Priorities)(nil)
	u := NewUsage(p.Tree)
	u.Decay(77)
	code := func(p **Priorities, u **Usage) func(*codec.Codec) {
		return func(s *codec.Codec) {
			Code(s, p)
			if s.Reading && !s.Bad {
				*u = NewUsage((*p).Tree)
			}
			(*u).Code(s)
		}
	}
	var read *Usage
	if err := codec.Copy(code(&p, &u), code(&again, &read)); err != nil {
		t.Fatal(err)
	}
	if !p.Same(again) || p.Same(nil) || !(*Priorities)(nil).Same(nil) {
		t.Error("they are not the same")
	}
	for o := int32(1); int(o) <= p.Tree.Owners(); o++ {
		if read.Of(o) != u.Of(o) {
			t.Errorf("owner %d: %v, want %v", o, read.Of(o), u.Of(o))
		}
	}
}
