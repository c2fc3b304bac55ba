package ask

// Caller is the receiver of an answer, with the rights that decide which names the answer contains. Package access
// implements the rights.
type Caller interface {
	// SeesAll reports whether the jobs of all users may be seen.
	SeesAll() bool
	// Sees reports whether the jobs of a user may be seen.
	Sees(user string) bool
	// NameOf returns the name of a user in the form that the caller may see.
	NameOf(user string) string
	// SeesDetails reports whether the account and the name of a job of a user may be seen.
	SeesDetails(user string) bool
}
