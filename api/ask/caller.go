package ask

// Caller is the one who receives an answer, and decides what it may name. Package access knows callers.
type Caller interface {
	// SeesAll reports whether the jobs of all users may be seen.
	SeesAll() bool
	// Sees reports whether the jobs of a user may be seen.
	Sees(user string) bool
	// NameOf returns the name of a user as the caller may know it.
	NameOf(user string) string
	// SeesDetails reports whether the account and the name of a job of a user may be seen.
	SeesDetails(user string) bool
}
