package access

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// localKept is how long the name of a uid is cached.
	localKept = time.Minute
	// localMost is the maximum number of cached uids. A full cache is emptied.
	localMost = 4096
	// localPatience is how long the host's name service may take for one name.
	localPatience = 2 * time.Second
	// defaultOverflow is the kernel's default uid for users outside the daemon's user namespace.
	defaultOverflow = 65534
)

// localUsers finds the names of this host's users by uid, with a cache.
type localUsers struct {
	now      func() time.Time
	overflow uint32

	mu   sync.Mutex
	kept map[uint32]*localUser
}

// localUser is the name of one uid, empty if it has none.
type localUser struct {
	at   time.Time
	find sync.Once
	name string
}

func newLocalUsers(now func() time.Time) *localUsers {
	u := &localUsers{now: now, overflow: defaultOverflow, kept: map[uint32]*localUser{}}
	if text, err := os.ReadFile("/proc/sys/kernel/overflowuid"); err == nil {
		if uid, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil {
			u.overflow = uint32(uid)
		}
	}
	return u
}

// name returns the name of a uid; empty if there is no such user, or if the uid does not identify one user.
func (u *localUsers) name(uid uint32) string {
	if uid == u.overflow {
		return ""
	}
	u.mu.Lock()
	one := u.kept[uid]
	if now := u.now(); one == nil || now.Sub(one.at) > localKept {
		if len(u.kept) >= localMost {
			clear(u.kept)
		}
		one = &localUser{at: now}
		u.kept[uid] = one
	}
	u.mu.Unlock()
	one.find.Do(func() { one.name = lookUpUser(uid) })
	return one.name
}

// lookUpUser returns the name of a uid, empty if it finds none. If Go's package user does not know the uid, lookUpUser
// calls getent, which uses all configured sources: a program without cgo reads only /etc/passwd, but most clusters have
// their users in a directory.
func lookUpUser(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	ctx, cancel := context.WithTimeout(context.Background(), localPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "getent", "passwd", id).Output()
	if err != nil {
		return ""
	}
	fields := strings.Split(strings.TrimSpace(string(out)), ":")
	if len(fields) < 3 || fields[2] != id { // the id may also be the name of another user
		return ""
	}
	return fields[0]
}

// ofSocket returns the caller of a request over a Unix socket of this host. Root and the daemon's own user are not
// administrators on the socket, because programs that forward a socket for others often run as one of these users.
func (g *Guard) ofSocket(ctx context.Context) (Caller, bool) {
	b, _ := ctx.Value(connKey{}).(*boundConn)
	if b == nil {
		return Caller{}, false
	}
	conn, ok := b.Conn.(*net.UnixConn)
	if !ok {
		return Caller{}, false
	}
	uid, err := peerUID(conn)
	if err != nil {
		return Caller{}, false
	}
	return g.ofUID("local user", uid)
}

// ofUID returns the caller with a uid that the kernel or munge reports. Root and the daemon's own user always get the
// role User. It returns false if no user has the uid.
func (g *Guard) ofUID(kind string, uid uint32) (Caller, bool) {
	name := g.locals.name(uid)
	if name == "" {
		return Caller{}, false
	}
	if uid == 0 || int(uid) == os.Geteuid() {
		return Caller{Role: User, User: name, Credential: kind + " " + name}, true
	}
	return g.named(kind, name, User), true
}
