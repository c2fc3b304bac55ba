package slurm_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestResizeTypes proves that the example is fully annotated with types and uses the syntax of Python 3.9.
func TestResizeTypes(t *testing.T) {
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		t.Skip("types of the example: mypy is missing (make test-deps)")
	}
	cmd := exec.Command(mypy, "--strict", "--python-version", "3.9", "--cache-dir", t.TempDir(), "resize.py")
	cmd.Env = append(os.Environ(), "MYPYPATH=../python")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// output collects the output of a process while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// TestRealSlurmResize proves on a real Slurm that the example resize.py releases nodes of a running job when a real
// daemon advises this, and informs the application first. The example ends when the job has ended.
func TestRealSlurmResize(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("resizing: python3 is missing (make test-deps)")
	}
	c := newCluster(t)
	url, _ := c.startDaemon()
	id := c.run("sbatch", "--parsable", "--output=/dev/null", "--chdir=/tmp", "-p", "long", "-N3", "-n12", "-t",
		"10:00:00", "--wrap=sleep 600")
	eventually(t, "a job on three nodes", func() bool {
		return c.run("squeue", "-h", "-j", id, "-o", "%T %D") == "RUNNING 3"
	})
	eventually(t, "the daemon to know it", func() bool { return answers(url + "/v1/wait?queue=long&procs=1") })
	dir := t.TempDir()
	told, tell, request := filepath.Join(dir, "told"), filepath.Join(dir, "tell"), filepath.Join(dir, "request.json")
	write(t, tell, "#!/bin/sh\nsqueue -h -j "+id+" -o \"$1 of %D\" >>"+told+"\n")
	if err := os.Chmod(tell, 0o755); err != nil { //nolint:gosec // a script
		t.Fatal(err)
	}
	// Half of the work is serial, and processors have a price, so one node is the cheapest.
	write(t, request, `{"runtime": {"amdahl": {"serial": 0.5, "t1_seconds": 36000}}, "objective": {"kind": "cost", `+
		`"price_proc_hour": 1}}`)
	var out output
	cmd := exec.CommandContext(t.Context(), python, "resize.py", "--job", id, "--tell", tell, request)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(c.plain, "slurm.conf"), "WAITCAST_URL="+url,
		"PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var end error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end = cmd.Wait()
	}()
	defer func() {
		_ = cmd.Process.Kill() // the process may have ended
		<-ended
		t.Logf("resize.py:\n%s", out.String())
	}()
	eventually(t, "a job on one node", func() bool {
		return c.run("squeue", "-h", "-j", id, "-o", "%T %D %C") == "RUNNING 1 4"
	})
	eventually(t, "the word of it", func() bool {
		return strings.Contains(out.String(), "resize: job "+id+" has 1 node\n")
	})
	text, err := os.ReadFile(told)
	if err != nil || string(text) != "1 of 3\n" {
		t.Errorf("the application was told %q, %v; want %q", text, err, "1 of 3\n")
	}
	c.run("scancel", id)
	eventually(t, "the example to end", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	if end != nil {
		t.Errorf("the example ends with %v", end)
	}
}
