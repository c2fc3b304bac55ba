package track

import (
	"hash/fnv"
	"maps"
	"math"
	"slices"
)

// LastStart is the newest start of a kind of job.
type LastStart struct{ At, Wait float64 }

// SimilarStart is the newest start of a user's jobs of one queue, by its code, and size class.
type SimilarStart struct {
	queue, size int
	LastStart
}

// QueueRuntimes is what a user's jobs ran in a queue.
type QueueRuntimes struct {
	queue int
	ForgettingMean
}

// mostAlike is how many of each a user has; the one changed least recently goes first.
const mostAlike = 64

// UserFacts is what is known of a user.
type UserFacts struct {
	Number           uint64
	Waiting, Running Amount // those that are held too
	Oldest           float64
	LastSubmit       float64
	LastRequest      Request
	LastStart        LastStart
	Recent           RecentWaits
	History          UserHistory
	Use              RecentUse
	alike            []SimilarStart // the one changed last at the end
	runtimes         []QueueRuntimes
}

// user is userFacts as they change.
type user struct {
	UserFacts
	name   string
	Line   SubmissionQueue
	live   int
	seen   uint64
	shard  uint32
	frozen *UserFacts
}

// NewUserFacts returns the facts of a user without jobs.
func NewUserFacts(number uint64) UserFacts {
	nan := math.NaN()
	return UserFacts{Number: number, Oldest: nan, LastSubmit: nan, LastStart: LastStart{nan, nan},
		History: newUserHistory()}
}

// AlikeOf returns the newest start of a kind, NaN for none.
func (u *UserFacts) AlikeOf(queue, size int) LastStart {
	for i := range u.alike {
		if a := &u.alike[i]; a.queue == queue && a.size == size {
			return a.LastStart
		}
	}
	return LastStart{math.NaN(), math.NaN()}
}

// runtimesIn returns what the user's jobs in a queue ran, nil for none.
func (u *UserFacts) runtimesIn(queue int) *ForgettingMean {
	for i := range u.runtimes {
		if u.runtimes[i].queue == queue {
			return &u.runtimes[i].ForgettingMean
		}
	}
	return nil
}

// moveToEnd puts what same finds, or else a new one, at the end of the list, and forgets the first where it is too
// long.
func moveToEnd[T any](all []T, most int, same func(T) bool) []T {
	i := slices.IndexFunc(all, same)
	if i < 0 {
		var fresh T
		if all = append(all, fresh); len(all) > most {
			all = slices.Delete(all, 0, 1)
		}
		return all
	}
	v := all[i]
	copy(all[i:], all[i+1:])
	all[len(all)-1] = v
	return all
}

func (u *user) started(queue, size int, l LastStart) {
	u.alike = moveToEnd(u.alike, mostAlike, func(a SimilarStart) bool { return a.queue == queue && a.size == size })
	u.alike[len(u.alike)-1] = SimilarStart{queue, size, l}
}

func (u *user) Ran(queue int, z float64) {
	u.runtimes = moveToEnd(u.runtimes, mostAlike, func(r QueueRuntimes) bool { return r.queue == queue })
	r := &u.runtimes[len(u.runtimes)-1]
	r.queue = queue
	r.Add(z, .7)
}

// freeze returns the facts as they are, not to be changed.
func (u *user) freeze() *UserFacts {
	if u.frozen == nil {
		f := u.UserFacts
		f.Oldest, f.alike, f.runtimes = u.Line.oldest(), slices.Clone(u.alike), slices.Clone(u.runtimes)
		f.History = u.History.freeze()
		u.frozen = &f
	}
	return u.frozen
}

// shards is into how many parts the users are cut of which a view copies only those that have changed.
const shards = 256

// UserTable is every user's facts, not to be changed.
type UserTable [shards]map[string]*UserFacts

func shardOf(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum32() % shards
}

// Find returns the facts of a user, nil where there are none.
func (t *UserTable) Find(name string) *UserFacts {
	if t == nil {
		return nil
	}
	return t[shardOf(name)][name]
}

// user returns the user of a name, a new one where there is none.
func (t *Tracker) user(name string) *user {
	u := t.Users[name]
	if u == nil {
		if len(t.Users) >= MostUsers {
			t.forgetUsers()
		}
		t.Numbers++
		u = &user{UserFacts: NewUserFacts(t.Numbers), name: name, shard: shardOf(name)}
		t.Users[name] = u
		t.TouchUser(u)
	}
	t.Seen++
	u.seen = t.Seen
	return u
}

func (t *Tracker) forgetUsers() {
	all := slices.Collect(maps.Values(t.Users)) // sorted by idle: no two are seen at once
	for _, u := range leastRecentlySeen(all, func(u *user) (uint64, bool) { return u.seen, u.live == 0 }) {
		delete(t.Users, u.name)
		u.frozen = nil
		t.frozen.changed = append(t.frozen.changed, u)
	}
}

// TouchUser notes that the user's facts change.
func (t *Tracker) TouchUser(u *user) {
	if u.frozen != nil || u.seen == 0 {
		u.frozen = nil
		t.frozen.changed = append(t.frozen.changed, u)
	}
}

// userTable returns every user's facts as they are.
func (t *Tracker) userTable() *UserTable {
	if len(t.frozen.changed) == 0 {
		return t.frozen.users
	}
	table := &UserTable{}
	if t.frozen.users != nil {
		*table = *t.frozen.users
	}
	copied := [shards]bool{}
	for _, u := range t.frozen.changed {
		if !copied[u.shard] {
			copied[u.shard] = true
			table[u.shard] = maps.Clone(table[u.shard])
			if table[u.shard] == nil {
				table[u.shard] = map[string]*UserFacts{}
			}
		}
		switch t.Users[u.name] {
		case u:
			table[u.shard][u.name] = u.freeze()
		case nil:
			delete(table[u.shard], u.name)
		}
	}
	t.frozen.changed, t.frozen.users = nil, table
	return table
}
