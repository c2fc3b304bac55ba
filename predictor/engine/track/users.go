package track

import (
	"hash/fnv"
	"maps"
	"math"
	"slices"
)

// LastStart is the newest start among jobs of a kind: its instant, and the logarithm of its wait. Both are NaN without
// a start.
type LastStart struct{ At, Wait float64 }

// SimilarStart is the newest start among a user's jobs of one queue (by its code) and size class.
type SimilarStart struct {
	queue, size int
	LastStart
}

// QueueRuntimes has the mean logarithm of the runtimes of a user's jobs in a queue, given by its code.
type QueueRuntimes struct {
	queue int
	ForgettingMean
}

// mostAlike is the maximum number of entries of each kind for a user. The least recently changed entry is dropped
// first.
const mostAlike = 64

// UserFacts has statistics of a user.
type UserFacts struct {
	Number           uint64
	Waiting, Running Amount // held jobs count as waiting
	Oldest           float64
	LastSubmit       float64
	LastRequest      Request
	LastStart        LastStart
	Recent           RecentWaits
	History          UserHistory
	Use              RecentUse
	alike            []SimilarStart // the entry that was changed last is at the end
	runtimes         []QueueRuntimes
}

// user is the mutable state of UserFacts.
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

// AlikeOf returns the newest start of the user's jobs of a queue, given by its code, and a size class. Its fields are
// NaN if there is none.
func (u *UserFacts) AlikeOf(queue, size int) LastStart {
	for i := range u.alike {
		if a := &u.alike[i]; a.queue == queue && a.size == size {
			return a.LastStart
		}
	}
	return LastStart{math.NaN(), math.NaN()}
}

// runtimesIn returns the runtimes of the user's jobs in a queue, nil if there are none.
func (u *UserFacts) runtimesIn(queue int) *ForgettingMean {
	for i := range u.runtimes {
		if u.runtimes[i].queue == queue {
			return &u.runtimes[i].ForgettingMean
		}
	}
	return nil
}

// moveToEnd moves the element for which same is true, or a new one, to the end of the list. It drops the first element
// if the list is too long.
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

// freeze returns an immutable copy of the facts.
func (u *user) freeze() *UserFacts {
	if u.frozen == nil {
		f := u.UserFacts
		f.Oldest, f.alike, f.runtimes = u.Line.oldest(), slices.Clone(u.alike), slices.Clone(u.runtimes)
		f.History = u.History.freeze()
		u.frozen = &f
	}
	return u.frozen
}

// shards is the number of parts into which users are divided. A view copies only the parts that have changed.
const shards = 256

// UserTable has every user's facts. It is immutable.
type UserTable [shards]map[string]*UserFacts

func shardOf(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum32() % shards
}

// Find returns the facts of a user, nil if there are none.
func (t *UserTable) Find(name string) *UserFacts {
	if t == nil {
		return nil
	}
	return t[shardOf(name)][name]
}

// user returns the user with a name. It creates the user if there is none.
func (t *Tracker) user(name string) *user {
	u := t.Users[name]
	if u == nil {
		if len(t.Users) >= t.memory.Users {
			t.makeRoomForUsers()
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

// TouchUser invalidates the user's frozen facts.
func (t *Tracker) TouchUser(u *user) {
	if u.frozen != nil || u.seen == 0 {
		t.frozen.change(u, len(t.Users))
	}
}

// change records a user whose facts differ from the newest table. If no view is made for long, as in a replay, more
// users have changed than exist, because most of them are forgotten already. The next table is then made from all
// present users.
func (f *frozenFacts) change(u *user, users int) {
	u.frozen = nil
	if f.outdated {
		return
	}
	if f.changed = append(f.changed, u); len(f.changed) > 2*users+shards {
		f.outdated, f.changed, f.users = true, nil, nil
	}
}

// newUserTable returns a table of all users.
func (t *Tracker) newUserTable() *UserTable {
	table := &UserTable{}
	for name, u := range t.Users {
		if table[u.shard] == nil {
			table[u.shard] = map[string]*UserFacts{}
		}
		table[u.shard][name] = u.freeze()
	}
	return table
}

// userTable returns the present facts of every user.
func (t *Tracker) userTable() *UserTable {
	if t.frozen.outdated {
		t.frozen.outdated, t.frozen.users = false, t.newUserTable()
	}
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
