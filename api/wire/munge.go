package wire

import "strings"

// MungeScheme is the scheme of the Authorization header that carries a credential of munge, and of the challenge by
// which a daemon asks for one. It is waitcast's own.
const MungeScheme = "Munge"

// MungePayload returns the text that a munge credential for the daemon at a host must hold: one that was made for
// another server, or for another program, is worth nothing there.
func MungePayload(host string) string { return "waitcast " + strings.ToLower(host) }
