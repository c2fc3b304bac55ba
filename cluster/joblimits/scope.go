package joblimits

import (
	"path"
	"slices"
	"strings"

	"github.com/waitcast/waitcast/job"
)

// ofScopes adds the limits on the jobs of a scope to which the job belongs, in the order of the facts. Of the limits
// of one set only the first match applies.
func (s *Set) ofScopes(out []Bound, a *job.Attributes) []Bound {
	var seen []string
	for _, i := range s.ofScope {
		scope := s.facts.Limits[i].Scope
		if scope.Set != "" && slices.Contains(seen, scope.Set) || !holds(scope, a) {
			continue
		}
		if scope.Set != "" {
			seen = append(seen, scope.Set)
		}
		out = s.add(out, i, eachOf(scope, a), a, new(Kinds), new(Kinds))
	}
	return out
}

// holds reports whether a job belongs to a scope.
func holds(s *job.Scope, a *job.Attributes) bool {
	return matches(s.Users, a.User) && matches(s.Accounts, a.Account) && matches(s.Groups, a.Group) &&
		matches(s.Queues, a.Queue)
}

// matches reports whether a name passes a filter (job.Scope).
func matches(filter []string, name string) bool {
	positive, found := false, false
	for _, pattern := range filter {
		pattern, not := strings.CutPrefix(pattern, "!")
		positive = positive || !not
		if !fits(pattern, name) {
			continue
		}
		if not {
			return false
		}
		found = true
	}
	return found || !positive
}

// fits reports whether a name matches a pattern. An empty name matches none.
func fits(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return name != "" && (ok && err == nil || pattern == name)
}

// eachOf returns the user, account, group and queue of a job, as far as the limit bounds each of them separately,
// joined by NUL bytes.
func eachOf(s *job.Scope, a *job.Attributes) string {
	var of []string
	for _, each := range [...]struct {
		apart bool
		name  string
	}{{s.EachUser, a.User}, {s.EachAccount, a.Account}, {s.EachGroup, a.Group}, {s.EachQueue, a.Queue}} {
		if each.apart {
			of = append(of, each.name)
		}
	}
	return strings.Join(of, "\x00")
}
