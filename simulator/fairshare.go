package simulator

import "math"

// usage has the processor seconds that users have used. They decay with a half-life. Only ratios matter. Therefore
// old usage is not decayed, but later usage gets more weight. All values are scaled down before the weights become
// too large.
type usage struct {
	index map[int64]int32 // index of a user in used
	users []int64
	used  []float64 // by index
	all   float64
	base  float64   // instant at which a processor second has weight 1
	since []float64 // by Ref of a running job: the instant up to which the job's usage was added
}

func (u *usage) reset() {
	*u = usage{index: map[int64]int32{}, users: u.users[:0], used: u.used[:0], since: u.since[:0]}
}

func (u *usage) copyFrom(src *usage) {
	same := 0
	for same < min(len(u.users), len(src.users)) && u.users[same] == src.users[same] {
		same++
	}
	if same < len(u.users) || u.index == nil {
		u.index, same = make(map[int64]int32, len(src.users)), 0
	}
	for i := same; i < len(src.users); i++ {
		u.index[src.users[i]] = int32(i)
	}
	u.users = append(u.users[:0], src.users...)
	u.used = append(u.used[:0], src.used...)
	u.since = append(u.since[:0], src.since...)
	u.all, u.base = src.all, src.base
}

func (u *usage) of(user int64) int32 {
	i, ok := u.index[user]
	if !ok {
		i = int32(len(u.used))
		u.index[user] = i
		u.users = append(u.users, user)
		u.used = append(u.used, 0)
	}
	return i
}

// weight returns the weight of a processor second that is used now. If it would become too large, weight first scales
// all usage down.
func (u *usage) weight(now, halfLife float64) float64 {
	if (now-u.base)/halfLife > 200 {
		f := math.Exp2((u.base - now) / halfLife)
		for i := range u.used {
			u.used[i] *= f
		}
		u.all *= f
		u.base = now
	}
	return math.Exp2((now - u.base) / halfLife)
}

func (u *usage) started(p *Pool, r Ref) {
	for int(r) >= len(u.since) {
		u.since = append(u.since, 0)
	}
	u.since[r] = p.Now()
}

// charge adds what a running job has used since it was last charged.
func (u *usage) charge(p *Pool, r Ref, weight float64) {
	x := float64(p.Held(r)) * (p.Now() - u.since[r]) * weight
	u.used[u.of(p.Job(r).User)] += x
	u.all += x
	u.since[r] = p.Now()
}

// factor returns 2^(-usage / share) of a user (see Priority). It is 1 before any usage.
func (u *usage) factor(user int64, share func(int64) float64) float64 {
	i := u.of(user)
	if u.all <= 0 {
		return 1
	}
	part := 1 / float64(len(u.users))
	if share != nil {
		sum := 0.0
		for _, k := range u.users {
			sum += share(k)
		}
		part = share(user) / sum
	}
	return math.Exp2(-u.used[i] / u.all / part)
}
