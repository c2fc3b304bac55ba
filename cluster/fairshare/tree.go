package fairshare

import (
	"slices"
	"strings"

	"github.com/waitcast/waitcast/job"
)

// Tree has the associations of users with accounts, and the accounts above them, with their shares and usage. It is
// immutable.
type Tree struct {
	facts     *job.Facts // the facts from which the tree was built
	algorithm algorithm
	damp      float64
	// countsEnds is true if the scheduler counts the usage of a job between the last computation before the job's end
	// and that end.
	countsEnds bool
	nodes      []node // the root first, each account after the one above it
	users      []int32
	owners     map[association]int32
	byUser     map[string]int32 // each user's association with the highest usage
	factors    map[string]float64
}

// association is the pair of a user and an account.
type association struct{ account, user string }

// node is an account, or a user in one.
type node struct {
	// parent is the account directly above. above is the nearest account above that has a share of its own, which is
	// one without asParent. The root has neither.
	parent, above int32
	share         int32 // raw shares
	asParent      bool
	user          bool
	norm          float64 // normalized share: among the siblings in the Fair Tree, otherwise of the whole machine
	level         int32   // raw shares of all siblings
	children      []int32 // nodes that share this node's part
	owner         int32   // only for users
	reported      float64 // usage as the scheduler reported it
	factor        float64
}

// None is the owner of jobs whose association is unknown.
const None int32 = 0

const root, none int32 = 0, -1

// algorithm is a method to compute factors from usage.
type algorithm uint8

const (
	fairTree algorithm = iota
	classic
	depthOblivious
)

// New returns the tree of the associations in the scheduler's facts, nil if their shares and usage are not reported.
func New(facts *job.Facts) *Tree {
	if facts == nil || facts.Weights == nil || len(facts.Shares) == 0 || len(facts.AccountShares) == 0 {
		return nil
	}
	t := &Tree{facts: onlyShares(facts), damp: float64(max(1, facts.Weights.Dampening)),
		countsEnds: facts.Enforced.Limits,
		owners:     map[association]int32{}, byUser: map[string]int32{}, factors: map[string]float64{}}
	switch flags := facts.Weights.Flags; {
	case slices.Contains(flags, "DEPTH_OBLIVIOUS"):
		t.algorithm = depthOblivious
	case slices.Contains(flags, "NO_FAIR_TREE"):
		t.algorithm = classic
	}
	for i := range facts.QOSRules {
		t.factors[strings.ToLower(facts.QOSRules[i].Name)] = facts.QOSRules[i].UsageFactor
	}
	if t.addNodes(facts); len(t.users) == 0 {
		return nil
	}
	t.addShares()
	return t
}

// onlyShares returns the part of the facts that a tree needs.
func onlyShares(facts *job.Facts) *job.Facts {
	return &job.Facts{Weights: facts.Weights, Shares: facts.Shares, AccountShares: facts.AccountShares,
		SharesAt: facts.SharesAt, Accounts: facts.Accounts, QOSRules: facts.QOSRules,
		Enforced: facts.Enforced}
}

// Facts returns the facts from which the tree was built; New can rebuild it from them.
func (t *Tree) Facts() *job.Facts { return t.facts }

// addNodes adds the accounts from the root down, and their users.
func (t *Tree) addNodes(facts *job.Facts) {
	parents := map[string]string{}
	for i := range facts.Accounts {
		parents[strings.ToLower(facts.Accounts[i].Name)] = strings.ToLower(facts.Accounts[i].Parent)
	}
	t.nodes = append(t.nodes, node{parent: none, above: none})
	below := map[string][]*job.Share{}
	for i := range facts.AccountShares {
		s := &facts.AccountShares[i]
		name := strings.ToLower(s.Account)
		if name == rootAccount {
			t.nodes[root].reported = s.Usage
			continue
		}
		parent := parents[name]
		if parent == "" {
			parent = rootAccount
		}
		below[parent] = append(below[parent], s)
	}
	at := map[string]int32{rootAccount: root}
	// The loop never reaches accounts in a cycle.
	for names := []string{rootAccount}; len(names) > 0; names = names[1:] {
		for _, s := range below[names[0]] {
			name := strings.ToLower(s.Account)
			at[name] = t.add(node{parent: at[names[0]], share: int32(s.Raw), asParent: s.AsParent, reported: s.Usage})
			names = append(names, name)
		}
	}
	t.addUsers(facts.Shares, at)
}

const rootAccount = "root"

// addUsers adds the users of the accounts.
func (t *Tree) addUsers(shares []job.Share, at map[string]int32) {
	for i := range shares {
		s := &shares[i]
		of := association{strings.ToLower(s.Account), s.User}
		parent, known := at[of.account]
		if _, twice := t.owners[of]; !known || twice || s.User == "" {
			continue
		}
		n := t.add(node{parent: parent, share: int32(s.Raw), asParent: s.AsParent, user: true, reported: s.Usage,
			owner: int32(len(t.users)) + 1, factor: s.Factor})
		t.users = append(t.users, n)
		owner := t.nodes[n].owner
		t.owners[of] = owner
		if most, ok := t.byUser[s.User]; !ok || t.nodes[t.users[most-1]].reported < s.Usage {
			t.byUser[s.User] = owner
		}
	}
}

// add adds a node to the children of its nearest ancestor with a share of its own, and returns the node's index.
func (t *Tree) add(n node) int32 {
	n.above = n.parent
	for n.above != root && t.nodes[n.above].asParent {
		n.above = t.nodes[n.above].parent
	}
	at := int32(len(t.nodes)) //nolint:gosec // as many as there are associations
	t.nodes = append(t.nodes, n)
	t.nodes[n.above].children = append(t.nodes[n.above].children, at)
	return at
}

// addShares computes the normalized shares.
func (t *Tree) addShares() {
	for i := range t.nodes {
		all := int32(0)
		for _, c := range t.nodes[i].children {
			if !t.nodes[c].asParent {
				all += t.nodes[c].share
			}
		}
		for _, c := range t.nodes[i].children {
			t.nodes[c].level = all
		}
	}
	t.nodes[root].norm = 1
	for i := range t.nodes[1:] {
		n := &t.nodes[i+1]
		switch {
		case n.asParent && t.algorithm != fairTree:
			n.norm = t.nodes[n.above].norm
			continue
		case n.level > 0 && !n.asParent:
			n.norm = float64(n.share) / float64(n.level)
		}
		if t.algorithm != fairTree {
			n.norm *= t.nodes[n.above].norm
		}
	}
}

// Owners returns the number n of associations of users. Owners are numbered from 1 to n.
func (t *Tree) Owners() int { return len(t.users) }

// Owner returns the association of a user with an account. If the account is empty, it returns the user's association
// with the highest usage; None if there is no association.
func (t *Tree) Owner(account, user string) int32 {
	if account == "" {
		return t.byUser[user]
	}
	return t.owners[association{strings.ToLower(account), user}]
}

// Reported returns the factor of an owner that the scheduler reported, rounded to hundredths.
func (t *Tree) Reported(owner int32) float64 { return t.nodes[t.users[owner-1]].factor }

// Rate returns the amount by which a running job increases its owner's usage in a second. It is the job's processors
// times the usage factor of its quality of service. As in Slurm, the factor of an unknown QOS is 1.
func (t *Tree) Rate(procs int, qos string) float64 {
	if f, known := t.factors[strings.ToLower(qos)]; known && f >= 0 {
		return f * float64(procs)
	}
	return float64(procs)
}
