package wire

import "strings"

// MungeScheme is the scheme of the Authorization header that carries a credential of munge. A daemon that accepts such
// credentials names the scheme in its challenge. The scheme is waitcast's own.
const MungeScheme = "Munge"

// MungePayload returns the text that a munge credential for the daemon at a host must hold. The text makes a
// credential useless for any other server and any other program.
func MungePayload(host string) string { return "waitcast " + strings.ToLower(host) }
