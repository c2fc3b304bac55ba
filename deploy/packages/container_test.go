package packages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// image holds the contents of the Containerfile.
type image struct {
	copies            [][2]string // from the context, to the image
	owners            []string    // the owners of the copies
	env               []string
	user, from        string
	volume, exposed   string
	entrypoint, flags []string
}

// containerfile reads the few instructions that the Containerfile uses. Any other instruction is an error.
func containerfile(t *testing.T, arch string) image {
	t.Helper()
	var im image
	for n, line := range strings.Split(read(t, "Containerfile"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		words := strings.Fields(strings.ReplaceAll(rest, "${TARGETARCH}", arch))
		switch instruction {
		case "FROM":
			im.from = rest
		case "ARG":
		case "COPY":
			owner, ok := strings.CutPrefix(words[0], "--chown=")
			if ok {
				words = words[1:]
			} else {
				owner = "0:0"
			}
			if len(words) != 2 {
				t.Fatalf("Containerfile:%d: %s", n+1, line)
			}
			im.copies, im.owners = append(im.copies, [2]string(words)), append(im.owners, owner)
		case "ENV":
			im.env = append(im.env, words...)
		case "USER":
			im.user = rest
		case "VOLUME":
			im.volume = rest
		case "EXPOSE":
			im.exposed = rest
		case "ENTRYPOINT", "CMD":
			var list []string
			if err := json.Unmarshal([]byte(rest), &list); err != nil {
				t.Fatalf("Containerfile:%d: %v", n+1, err)
			}
			if instruction == "CMD" {
				im.flags = list
			} else {
				im.entrypoint = list
			}
		default:
			t.Fatalf("Containerfile:%d: %s: this test does not know it", n+1, instruction)
		}
	}
	return im
}

// TestContainerfile proves what can be seen without a build: an empty base, a user that is not root, the port on which
// the daemon listens, and the state in a volume of that user.
func TestContainerfile(t *testing.T) {
	im := containerfile(t, "amd64")
	env := strings.Join(im.env, " ")
	if im.from != "scratch" || im.user != "65532:65532" || im.exposed != "9817" ||
		!strings.Contains(env, "WAITCAST_LISTEN=:"+im.exposed) ||
		!strings.Contains(env, "STATE_DIRECTORY="+im.volume) {
		t.Errorf("%+v", im)
	}
	last := len(im.copies) - 1
	if im.copies[last][1] != im.volume || im.owners[last] != im.user {
		t.Errorf("the state is %v of %s, the volume %s", im.copies[last], im.owners[last], im.volume)
	}
}

// TestContainer proves that the image, assembled by hand as its file says, has a daemon that runs as its user without
// anything else.
func TestContainer(t *testing.T) {
	need(t)
	if os.Geteuid() != 0 {
		t.Skip("an image put together by hand: only root can change the root folder")
	}
	dist, arch := build(t, newVersion), goarch(t)
	im := containerfile(t, arch)
	root, err := os.MkdirTemp(artifacts, "image")
	if err != nil {
		t.Fatal(err)
	}
	run(t, "chmod", "755", root)
	for i, c := range im.copies {
		to := filepath.Join(root, c[1])
		run(t, "mkdir", "-p", to)
		run(t, "cp", "-r", filepath.Join(dist, c[0])+"/.", to)
		run(t, "chown", "-R", im.owners[i], to)
	}
	accounting := filepath.Join(root, "etc/waitcast/20260302")
	write(t, accounting, "")
	write(t, filepath.Join(root, "etc/waitcast/waitcastd.yaml"),
		"clusters: [{sources: [{format: pbs, path: /etc/waitcast/20260302}]}]\n")

	port := freePort(t, 1)
	var log strings.Builder
	program := append(im.entrypoint, im.flags...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program[0], program[1:]...)
	cmd.Path = program[0] // the program of the image
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	cmd.Env = append(im.env, fmt.Sprintf("WAITCAST_LISTEN=127.0.0.1:%d", port))
	cmd.Dir, cmd.Stderr = "/", &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ready := func() bool {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", port))
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	eventually(t, "the daemon of the image is ready", ready)
	if _, err := os.Stat(filepath.Join(root, im.volume, "waitcast.db")); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
}
