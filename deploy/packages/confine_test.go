package packages_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// confineRole makes the test binary install a filter of system calls and become another program: confine FILTER PROGRAM
// ARG...
const confineRole = "confine"

// confine installs the filter and becomes the program. It returns only if that fails.
func confine(args []string) error {
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var filter []syscall.SockFilter
	if err := json.Unmarshal(content, &filter); err != nil {
		return err
	}
	runtime.LockOSThread() // the filter belongs to this thread, and execve keeps it
	prog := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// prctl(2)
	const setSeccomp, modeFilter = 22, 2
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return fmt.Errorf("%s: %w", args[1], syscall.Exec(args[1], args[1:], os.Environ()))
}

// calls adds to into the system calls of one of systemd's groups, and of the groups in that group.
func calls(t *testing.T, group string, into map[string]bool) {
	t.Helper()
	for line := range strings.Lines(run(t, "systemd-analyze", "syscall-filter", group)) {
		name := strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, " "), strings.HasPrefix(name, "#"), name == "":
		case strings.HasPrefix(name, "@"):
			calls(t, name, into)
		default:
			into[name] = true
		}
	}
}

// numbers returns the numbers of the system calls of this machine.
func numbers(t *testing.T) map[string]uint32 {
	t.Helper()
	const header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
	file, err := os.Open(header)
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skipf("the numbers of system calls are read from %s (linux-libc-dev), on amd64 only", header)
	}
	defer func() { _ = file.Close() }()
	all := map[string]uint32{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if m := regexp.MustCompile(`^#define __NR_(\w+) (\d+)$`).FindStringSubmatch(lines.Text()); m != nil {
			n, err := strconv.ParseUint(m[2], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			all[m[1]] = uint32(n)
		}
	}
	return all
}

// These are values of the classic BPF of seccomp(2): offsets in struct seccomp_data, and results of a filter.
const (
	atNumber, atArch, atArg0, atArg2 = 0, 4, 16, 32
	archAMD64                        = 0xc000003e // AUDIT_ARCH_X86_64
	allow, refuse                    = 0x7fff0000, 0x00050000

	load       = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
	equal      = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
	anyBit     = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
	and        = syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K
	yield      = syscall.BPF_RET | syscall.BPF_K
	writeExec  = syscall.PROT_WRITE | syscall.PROT_EXEC
	familyFail = refuse | uint32(syscall.EAFNOSUPPORT)
	permFail   = refuse | uint32(syscall.EPERM)
)

// filter returns the filter that systemd makes of the unit's SystemCallFilter=, RestrictAddressFamilies= and
// MemoryDenyWriteExecute=, and the part of RestrictNamespaces= that concerns clone3 (systemd.exec(5)).
func filter(t *testing.T, unit string) []syscall.SockFilter {
	t.Helper()
	number := numbers(t)
	var program []syscall.SockFilter
	add := func(code uint16, jt, jf uint8, k uint32) {
		program = append(program, syscall.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
	}
	add(load, 0, 0, atArch)
	add(equal, 1, 0, archAMD64)
	add(yield, 0, 0, permFail)
	add(load, 0, 0, atNumber)

	families := map[string]uint32{"AF_UNIX": syscall.AF_UNIX, "AF_INET": syscall.AF_INET, "AF_INET6": syscall.AF_INET6}
	granted := strings.Fields(setting(t, unit, "RestrictAddressFamilies"))
	add(equal, 0, uint8(2+2*len(granted)), number["socket"]) //nolint:gosec // three
	add(load, 0, 0, atArg0)
	for _, name := range granted {
		family, ok := families[name]
		if !ok {
			t.Fatalf("RestrictAddressFamilies has %s, which this test does not know", name)
		}
		add(equal, 0, 1, family)
		add(yield, 0, 0, allow)
	}
	add(yield, 0, 0, familyFail)

	add(equal, 0, 5, number["mmap"])
	add(load, 0, 0, atArg2)
	add(and, 0, 0, writeExec)
	add(equal, 0, 1, writeExec)
	add(yield, 0, 0, permFail)
	add(yield, 0, 0, allow)
	for _, name := range []string{"mprotect", "pkey_mprotect"} {
		add(equal, 0, 4, number[name])
		add(load, 0, 0, atArg2)
		add(anyBit, 0, 1, syscall.PROT_EXEC)
		add(yield, 0, 0, permFail)
		add(yield, 0, 0, allow)
	}
	add(equal, 0, 1, number["clone3"])
	add(yield, 0, 0, refuse|uint32(syscall.ENOSYS))
	for name := range allowed(t, unit) {
		if n, ok := number[name]; ok {
			add(equal, 0, 1, n)
			add(yield, 0, 0, allow)
		}
	}
	add(yield, 0, 0, permFail)
	return program
}

// allowed returns the system calls that the unit's filters leave.
func allowed(t *testing.T, unit string) map[string]bool {
	t.Helper()
	left := map[string]bool{}
	calls(t, "@default", left)
	for line := range strings.Lines(unit) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "SystemCallFilter=")
		if !ok {
			continue
		}
		groups, denied := strings.CutPrefix(text, "~")
		some := map[string]bool{}
		for _, group := range strings.Fields(groups) {
			calls(t, group, some)
		}
		for name := range some {
			if denied {
				delete(left, name)
			} else {
				left[name] = true
			}
		}
	}
	if len(left) < 100 || left["mount"] || left["chown"] || !left["read"] || !left["execve"] {
		t.Fatalf("%d system calls are left: this test does not read the unit right", len(left))
	}
	return left
}

// setting returns the value of a key that occurs once in a unit.
func setting(t *testing.T, unit, key string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^`+key+`=(.*)$`).FindAllStringSubmatch(unit, -1)
	if len(m) != 1 {
		t.Fatalf("the unit has %s= %d times", key, len(m))
	}
	return m[0][1]
}
