package check

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// Names of two extended attributes (acl(5)): a file's access control list, and the list that new files in a folder
// get.
const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

// acl is an access control list as in acl(5). Each entry has three bits: read, write, execute.
type acl struct {
	owner, group, other fs.FileMode
	users, groups       map[uint32]fs.FileMode
	// mask limits the permissions of the owning group, named users and named groups. It applies if masked is set.
	mask   fs.FileMode
	masked bool
}

// modeACL returns the list that is equivalent to mode bits.
func modeACL(mode fs.FileMode) acl {
	return acl{owner: mode >> 6 & 7, group: mode >> 3 & 7, other: mode & 7}
}

// Layout of a list in an extended attribute: its header and its entries (linux/posix_acl_xattr.h).
const (
	aclVersion    = 2
	aclHeaderSize = 4
	aclEntrySize  = 8

	tagOwner      = 0x01
	tagUser       = 0x02
	tagGroup      = 0x04
	tagNamedGroup = 0x08
	tagMask       = 0x10
	tagOther      = 0x20
)

// parseACL parses an extended attribute.
func parseACL(attribute []byte) (acl, error) {
	if len(attribute) < aclHeaderSize || binary.LittleEndian.Uint32(attribute) != aclVersion {
		return acl{}, errors.New("no access control list of version 2")
	}
	l := acl{users: map[uint32]fs.FileMode{}, groups: map[uint32]fs.FileMode{}}
	for entry := range slices.Chunk(attribute[aclHeaderSize:], aclEntrySize) {
		if len(entry) < aclEntrySize {
			return acl{}, errors.New("an access control list that is cut off")
		}
		bits := fs.FileMode(binary.LittleEndian.Uint16(entry[2:]) & 7)
		id := binary.LittleEndian.Uint32(entry[4:])
		switch binary.LittleEndian.Uint16(entry) {
		case tagOwner:
			l.owner = bits
		case tagUser:
			l.users[id] = bits
		case tagGroup:
			l.group = bits
		case tagNamedGroup:
			l.groups[id] = bits
		case tagMask:
			l.mask, l.masked = bits, true
		case tagOther:
			l.other = bits
		}
	}
	return l, nil
}

// readACL reads one of the two lists of a file. If the file has no such list or the file system has no lists, the
// second result is false and there is no error.
func readACL(path, name string) (l acl, there bool, err error) {
	buffer := make([]byte, 4096)
	n, err := syscall.Getxattr(path, name, buffer)
	switch {
	case errors.Is(err, syscall.ENODATA) || errors.Is(err, syscall.ENOTSUP):
		return acl{}, false, nil
	case err != nil:
		return acl{}, false, fmt.Errorf("reading the access control list of %s: %w", path, err)
	}
	l, err = parseACL(buffer[:n])
	return l, err == nil, err
}

// allows reports whether the list of a file grants the account the wanted permission. uid and gid are the owner and the
// group of the file. Only the first class to which the account belongs counts: owner, named user, groups (one
// suffices), others. Root may do everything. Linux ignores named users and groups if the mask is empty
// (acl_permission_check in fs/namei.c).
func (l *acl) allows(a *account, uid, gid uint32, want fs.FileMode) bool {
	mask := fs.FileMode(7)
	if l.masked {
		mask = l.mask
	}
	if a.uid == 0 {
		return true
	}
	if a.uid == uid {
		return l.owner&want == want
	}
	if bits, named := l.users[a.uid]; named && mask != 0 {
		return bits&mask&want == want
	}
	member := slices.Contains(a.groups, gid)
	if member && l.group&mask&want == want {
		return true
	}
	for group, bits := range l.groups {
		if slices.Contains(a.groups, group) && mask != 0 {
			member = true
			if bits&mask&want == want {
				return true
			}
		}
	}
	return !member && l.other&want == want
}

// chmod returns the list after a change of the mode. If the list has a mask, the group bits become the mask.
func (l acl) chmod(mode fs.FileMode) acl {
	l.owner, l.other = mode>>6&7, mode&7
	if l.masked {
		l.mask = mode >> 3 & 7
	} else {
		l.group = mode >> 3 & 7
	}
	return l
}

// created returns the list of a new file with a mode in a folder with this default list.
func (l acl) created(mode fs.FileMode) acl {
	l.owner, l.other = l.owner&(mode>>6), l.other&mode
	if l.masked {
		l.mask &= mode >> 3
	} else {
		l.group &= mode >> 3
	}
	return l
}

// permissions are the owner of a file and the rights that each user has.
type permissions struct {
	uid, gid uint32
	acl
}

// permissionsOf reads the permissions of a file or folder.
func permissionsOf(path string) (p permissions, mode fs.FileMode, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return p, 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return p, 0, fmt.Errorf("%s: no owner known", path)
	}
	p = permissions{uid: st.Uid, gid: st.Gid, acl: modeACL(info.Mode().Perm())}
	list, there, err := readACL(path, accessList)
	if there {
		p.acl = list
	}
	return p, info.Mode(), err
}

// allow reports whether the account has the wanted permission.
func (p *permissions) allow(a *account, want fs.FileMode) bool {
	return p.allows(a, p.uid, p.gid, want)
}
