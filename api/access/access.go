// Package access controls access to waitcast's HTTP interface: credentials and their roles, how users' names are shown,
// limits per client, and the headers of every answer. It does not depend on the contents of answers.
package access

import (
	"context"
	"fmt"
)

// Role is the level of access of a caller. Each role includes those before it.
type Role int

// The roles.
const (
	// None sees only whether the daemon is alive.
	None Role = iota
	// Public sees aggregates: forecasts, queues, models, accuracy, metrics.
	Public
	// User also sees the jobs of one user.
	User
	// Admin sees and does everything.
	Admin
)

// String returns the role's name in files and answers.
func (r Role) String() string {
	switch r {
	case Public:
		return "public"
	case User:
		return "user"
	case Admin:
		return "admin"
	}
	return "none"
}

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	for _, r := range []Role{None, Public, User, Admin} {
		if r.String() == name {
			return r, nil
		}
	}
	return None, fmt.Errorf("%q is no role; allowed: none, public, user, admin", name)
}

// Caller is who sent a request.
type Caller struct {
	// Role is what the caller may see.
	Role Role
	// User is the scheduler's name of the user whose jobs are the caller's own; empty for none.
	User string
	// Credential is the name of the caller's credential: "token alice-laptop", "user alice"; empty for none.
	Credential string
	// Client is the identity for limits and shares: the credential, else the address. It is empty if neither is known,
	// as on a Unix socket.
	Client string
}

// callerKey is the context key of the caller.
type callerKey struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Of returns the caller of a request; the zero Caller, without a role, if the request did not pass Guard.Wrap.
func Of(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Show defines how users' names are shown to callers that may not see them.
type Show string

// These are the ways to show a user's name: not at all, as a hash (see Names.Hash), or as it is.
const (
	Hidden Show = "hidden"
	Hashed Show = "hashed"
	Shown  Show = "shown"
)

// Policy defines what callers may see. The zero value denies everything; Default is the policy without any
// configuration.
type Policy struct {
	// Anonymous is the role of callers without a credential, Public or None. With AnonymousAuto it becomes None if
	// the web-config file has users.
	Anonymous Role
	// AnonymousAuto means that Anonymous follows from the web-config file.
	AnonymousAuto bool
	// Others is the minimum role that sees other users' waiting jobs (without names), and may ask in other users'
	// names.
	Others Role
	// OthersAuto means that Others follows from the configuration and the scheduler: Admin if there is a tokens file,
	// if the web-config file has users or if the scheduler hides the jobs of a user from other users, else Public.
	OthersAuto bool
	// Users is how other users' names are shown to all but administrators.
	Users Show
	// Basic is the role of the users in the web-config file. Their own jobs are those of the user of the same name.
	Basic Role
	// Certificate is the role of callers with a verified client certificate; its common name is the user.
	Certificate Role
	// Munge lets callers show credentials of munge, whose users have the role User.
	Munge bool
	// Admins are the names of administrators: users of the web-config file, of munge and of the socket, and common
	// names of certificates. Over munge and the socket, root and the daemon's own user are never administrators.
	Admins []string
	// Origins are the sites, such as https://ondemand.example.org, whose pages may send requests from a browser, and
	// may show the daemon's page in a frame. Patterns are not supported.
	Origins []string
	// Hosts are the names, besides those of this host, that requests over loopback may have in the header Host.
	Hosts []string
}

// Default returns the policy without any configuration: everybody may use all paths except those for administrators,
// and no names are shown.
func Default() Policy {
	return Policy{Anonymous: Public, AnonymousAuto: true, Others: Public, OthersAuto: true, Users: Hidden, Basic: User,
		Certificate: Public}
}
