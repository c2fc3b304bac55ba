package engine

import (
	"hash/fnv"
	"maps"
	"math"
	"slices"
)

// last is the newest start of a kind of job.
type last struct{ at, wait float64 }

// alike is the newest start of a user's jobs of one queue, by its code, and size class.
type alike struct {
	queue, size int
	last
}

// ran is what a user's jobs ran in a queue.
type ran struct {
	queue int
	mean
}

// mostAlike is how many of each a user has; the one changed least recently goes first.
const mostAlike = 64

// userFacts is what is known of a user.
type userFacts struct {
	number           uint64
	waiting, running amount // those that are held too
	oldest           float64
	lastSubmit       float64
	lastRequest      Request
	lastStart        last
	recent           recent
	alike            []alike // the one changed last at the end
	runtimes         []ran
}

// user is userFacts as they change.
type user struct {
	userFacts
	name   string
	line   line
	live   int
	seen   uint64
	shard  uint32
	frozen *userFacts
}

func newUserFacts(number uint64) userFacts {
	nan := math.NaN()
	return userFacts{number: number, oldest: nan, lastSubmit: nan, lastStart: last{nan, nan}}
}

// alikeOf returns the newest start of a kind, NaN for none.
func (u *userFacts) alikeOf(queue, size int) last {
	for i := range u.alike {
		if a := &u.alike[i]; a.queue == queue && a.size == size {
			return a.last
		}
	}
	return last{math.NaN(), math.NaN()}
}

// runtimesIn returns what the user's jobs in a queue ran, nil for none.
func (u *userFacts) runtimesIn(queue int) *mean {
	for i := range u.runtimes {
		if u.runtimes[i].queue == queue {
			return &u.runtimes[i].mean
		}
	}
	return nil
}

// renew puts what same finds, or else a new one, at the end of the list, and forgets the first where it is too long.
func renew[T any](all []T, same func(T) bool) []T {
	i := slices.IndexFunc(all, same)
	if i < 0 {
		var fresh T
		if all = append(all, fresh); len(all) > mostAlike {
			all = slices.Delete(all, 0, 1)
		}
		return all
	}
	v := all[i]
	copy(all[i:], all[i+1:])
	all[len(all)-1] = v
	return all
}

func (u *user) started(queue, size int, l last) {
	u.alike = renew(u.alike, func(a alike) bool { return a.queue == queue && a.size == size })
	u.alike[len(u.alike)-1] = alike{queue, size, l}
}

func (u *user) ran(queue int, z float64) {
	u.runtimes = renew(u.runtimes, func(r ran) bool { return r.queue == queue })
	r := &u.runtimes[len(u.runtimes)-1]
	r.queue = queue
	r.add(z, .7)
}

// freeze returns the facts as they are, not to be changed.
func (u *user) freeze() *userFacts {
	if u.frozen == nil {
		f := u.userFacts
		f.oldest, f.alike, f.runtimes = u.line.oldest(), slices.Clone(u.alike), slices.Clone(u.runtimes)
		u.frozen = &f
	}
	return u.frozen
}

// shards is into how many parts the users are cut of which a view copies only those that have changed.
const shards = 256

// userTable is every user's facts, not to be changed.
type userTable [shards]map[string]*userFacts

func shardOf(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum32() % shards
}

func (t *userTable) find(name string) *userFacts {
	if t == nil {
		return nil
	}
	return t[shardOf(name)][name]
}

// user returns the user of a name, a new one where there is none.
func (e *Engine) user(name string) *user {
	u := e.users[name]
	if u == nil {
		if len(e.users) >= mostUsers {
			e.forgetUsers()
		}
		e.numbers++
		u = &user{userFacts: newUserFacts(e.numbers), name: name, shard: shardOf(name)}
		e.users[name] = u
		e.touchUser(u)
	}
	e.seen++
	u.seen = e.seen
	return u
}

func (e *Engine) forgetUsers() {
	all := slices.Collect(maps.Values(e.users)) // sorted by idle: no two are seen at once
	for _, u := range idle(all, func(u *user) (uint64, bool) { return u.seen, u.live == 0 }) {
		delete(e.users, u.name)
		u.frozen = nil
		e.frozen.changed = append(e.frozen.changed, u)
	}
}

// touchUser notes that the user's facts change.
func (e *Engine) touchUser(u *user) {
	if u.frozen != nil || u.seen == 0 {
		u.frozen = nil
		e.frozen.changed = append(e.frozen.changed, u)
	}
}

// userTable returns every user's facts as they are.
func (e *Engine) userTable() *userTable {
	if len(e.frozen.changed) == 0 {
		return e.frozen.users
	}
	t := &userTable{}
	if e.frozen.users != nil {
		*t = *e.frozen.users
	}
	copied := [shards]bool{}
	for _, u := range e.frozen.changed {
		if !copied[u.shard] {
			copied[u.shard] = true
			t[u.shard] = maps.Clone(t[u.shard])
			if t[u.shard] == nil {
				t[u.shard] = map[string]*userFacts{}
			}
		}
		switch e.users[u.name] {
		case u:
			t[u.shard][u.name] = u.freeze()
		case nil:
			delete(t[u.shard], u.name)
		}
	}
	e.frozen.changed, e.frozen.users = nil, t
	return t
}
