// Package access decides who may ask waitcast's HTTP interface for what: credentials and their roles, what is shown of
// users' names, how much one client may ask, and the headers of every answer. It does not know what is answered.
package access

import (
	"context"
	"fmt"
)

// Role is what a caller may see. Each role includes those before it.
type Role int

// The roles.
const (
	// None sees nothing but whether the daemon lives.
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
	// User is whose jobs are the caller's own, as the scheduler writes it; empty for nobody's.
	User string
	// Credential names what the caller showed: "token alice-laptop", "user alice"; empty for none.
	Credential string
}

// callerKey is the caller's place in a context.
type callerKey struct{}

// With returns a context that carries the caller.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Of returns the caller of a request; the zero Caller, of no role, if the request did not pass Guard.Wrap.
func Of(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Show defines what is shown of users' names to those who may not see them.
type Show string

// The ways to show a name.
const (
	Hidden Show = "hidden"
	Hashed Show = "hashed"
	Shown  Show = "shown"
)

// Policy is what callers may see. Its zero value lets nobody see anything; Default is the one without any
// configuration.
type Policy struct {
	// Anonymous is the role of callers without a credential, Public or None. Auto makes that None where the web-config
	// file has users.
	Anonymous Role
	// AnonymousAuto means that Anonymous follows from the web-config file.
	AnonymousAuto bool
	// Others is the least role that sees other users' waiting jobs (without names), and may ask in their names.
	Others Role
	// OthersAuto means that Others follows from the credentials there are: Public where there are none but the admin
	// token, else Admin.
	OthersAuto bool
	// Users is how other users' names are shown to all but administrators.
	Users Show
	// Basic is the role of the web-config file's users, whose own jobs are those of the user of the same name.
	Basic Role
	// Certificate is the role of those who show a client certificate that the server has verified; its common name is
	// the user.
	Certificate Role
	// Admins are the names of users of the web-config file, and common names of certificates, that are administrators.
	Admins []string
}

// Default returns the policy without any configuration: everybody may ask for everything but the administrators' paths,
// and no names are shown.
func Default() Policy {
	return Policy{Anonymous: Public, AnonymousAuto: true, Others: Public, OthersAuto: true, Users: Hidden, Basic: User,
		Certificate: Public}
}
