package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/waitcast/waitcast/modelstore"
	"github.com/waitcast/waitcast/modelstore/storetest"
)

// runHelper runs a task as a helper process. "hold" opens the store, reports that, and waits for the end of its input.
// "commit" alternately commits and stores chunks of a history, without end, and prints the number of each commit and of
// each stored chunk. "race" does the work of a process in TestRacing.
func runHelper(task, path string) int {
	if task == "race" {
		if err := race(path); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	s, err := Open(context.Background(), path, Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if task == "hold" {
		fmt.Println("open")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		if err := s.Close(); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	fmt.Println(commitForEver(s))
	return 1
}

// commitForEver alternately commits and stores chunks, continuing after the last ones in the store, until one fails.
func commitForEver(s *Store) error {
	ctx := context.Background()
	last, err := s.LastSeq(ctx)
	if err != nil {
		return err
	}
	there, err := chunks(s)
	if err != nil {
		return err
	}
	for n := int64(1); ; n++ {
		to := last + n%40 + 1
		if err := s.Commit(ctx, counted(last+1, to)); err != nil {
			return err
		}
		last = to
		chunk := len(there) + int(n) - 1
		if err := s.PutHistory(ctx, storetest.MakeChunk("c", "h", "events", chunk, chunkBytes)); err != nil {
			return err
		}
		fmt.Println(last, chunk)
	}
}

// chunkBytes is the size of the helper's chunks: several pages.
const chunkBytes = 10_000

// counted returns a batch with the entries and rows from the number `from` to the number `to`. All other parts of the
// batch contain the number `to`.
func counted(from, to int64) modelstore.Batch {
	b := modelstore.Batch{
		Entries:     storetest.MakeEntries(from, to),
		Checkpoints: []modelstore.Checkpoint{{Source: "log", Data: fmt.Append(nil, to)}},
		Models:      []modelstore.SavedModel{storetest.MakeModel("c/load", to, 1000)},
	}
	for seq := from; seq <= to; seq++ {
		b.Rows = append(b.Rows, storetest.MakeRow(seq))
	}
	b.Snapshot = storetest.MakeSnapshot(to)
	return b
}

// startHelper starts the test binary as a helper process.
func startHelper(t *testing.T, task, path string) (cmd *exec.Cmd, output *bufio.Scanner, stop func()) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd = exec.Command(exe, path)
	cmd.Env = append(os.Environ(), helperVar+"="+task)
	input, err := cmd.StdinPipe()
	must(t, err)
	pipe, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(pipe), func() { must(t, errors.Join(input.Close(), cmd.Wait())) }
}

// TestLocked proves that a second process is refused with the name of the holder, and can open the store when the
// holder is gone.
func TestLocked(t *testing.T) {
	path := tempPath(t)
	cmd, output, stop := startHelper(t, "hold", path)
	if !output.Scan() || output.Text() != "open" {
		t.Fatalf("the helper said %q", output.Text())
	}
	_, err := Open(t.Context(), path, Options{})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != cmd.Process.Pid || locked.Path != path || !strings.Contains(locked.Command, os.Args[0]) {
		t.Errorf("opening a held store gave %v", err)
	}
	if message := fmt.Sprint(err); !strings.Contains(message, strconv.Itoa(cmd.Process.Pid)) {
		t.Errorf("the message does not name the process: %s", message)
	}
	stop()
	s := closing(t, mustOpen(t, path, Options{}))
	if _, err := Open(t.Context(), path, Options{}); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("opening twice in one process gave %v", err)
	}
	must(t, s.SetMeta(t.Context(), "still", "works"))
}

// TestStaleLock proves that the lock file of a dead process is no obstacle, and that this process is not reported as
// the holder.
func TestStaleLock(t *testing.T) {
	path := tempPath(t)
	cmd, output, _ := startHelper(t, "hold", path)
	if !output.Scan() {
		t.Fatal("the helper did not start")
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	left, err := os.ReadFile(path + ".lock")
	must(t, err)
	var h holder
	must(t, json.Unmarshal(left, &h))
	if h.PID != cmd.Process.Pid {
		t.Fatalf("the dead process left %s", left)
	}
	s := closing(t, mustOpen(t, path, Options{}))
	if s.Recovered() != nil || s.lock.last.PID != cmd.Process.Pid {
		t.Errorf("recovered %v after a holder %+v", s.Recovered(), s.lock.last)
	}
}

// TestKill proves that after a process is killed (SIGKILL) at any instant, the store has whole commits and whole chunks
// of histories. Journal, ledger, checkpoint and snapshot contain the same number, which is at least the last one
// reported as committed. The chunks are the first ones without a gap, at least as many as were reported as stored.
func TestKill(t *testing.T) {
	path := tempPath(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	rounds := 10
	switch {
	case testing.Short():
		rounds = 3
	case os.Getenv("WAITCAST_LONG") != "":
		rounds = 40
	}
	for round := range rounds {
		cmd, output, _ := startHelper(t, "commit", path)
		reported, chunk := int64(0), -1
		for range 1 + rnd.IntN(30) {
			if !output.Scan() {
				t.Fatal("the helper ended")
			}
			if _, err := fmt.Sscan(output.Text(), &reported, &chunk); err != nil {
				t.Fatalf("the helper said %q", output.Text())
			}
		}
		for range rnd.IntN(1 << 20) { // wait into some part of the next commit
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		if n := checkCounted(t, path, round, reported); n <= chunk {
			t.Fatalf("round %d: chunk %d was stored, only %d are there", round, chunk, n)
		}
	}
}

// TestReaderBeside covers a program that reads the database after a crash, and so prevents the content of the WAL from
// being moved into the file. It proves that Open does not take this for damage.
func TestReaderBeside(t *testing.T) {
	live, path := tempPath(t), tempPath(t)
	s := mustOpen(t, live, Options{})
	must(t, s.Commit(t.Context(), counted(1, 40)))
	for _, suffix := range []string{"", "-wal"} { // as after a crash: nearly everything is still in the WAL
		data, err := os.ReadFile(live + suffix)
		must(t, err)
		must(t, os.WriteFile(path+suffix, data, 0o640))
	}
	must(t, s.Close())
	db, err := openDB(path, map[string][]string{})
	must(t, err)
	defer func() { must(t, db.Close()) }()
	tx, err := db.Begin()
	must(t, err)
	var n int64
	must(t, tx.QueryRow("SELECT count(*) FROM journal").Scan(&n))
	rawExec(t, path, `INSERT INTO bad_line (at, source, path, line, reason, message, text)
		VALUES (0, '', '', 0, 'later than the reader', '', zeroblob(100000))`)
	s = mustOpen(t, path, Options{})
	if s.Recovered() != nil {
		t.Errorf("set aside: %v", s.Recovered().Reason)
	}
	must(t, tx.Rollback())
	must(t, s.Close())
	checkCounted(t, path, 0, n)
}

// checkCounted opens the store. It checks that all parts contain the same number, which must be at least atLeast, and
// that each chunk of the history up to the last is there and whole. It returns the number of chunks.
func checkCounted(t *testing.T, path string, round int, atLeast int64) int {
	t.Helper()
	s := mustOpen(t, path, Options{})
	defer func() { must(t, s.Close()) }()
	if s.Recovered() != nil {
		t.Fatalf("round %d: recovered: %v", round, s.Recovered())
	}
	got, err := contents(s)
	must(t, err)
	chunks := len(got.history)
	checkChunks(t, fmt.Sprint("round ", round), got.history)
	got.history = nil
	last := int64(len(got.entries))
	if last < atLeast {
		t.Fatalf("round %d: %d was committed, only %d are there", round, atLeast, last)
	}
	if want := wantContents(last); !bytes.Equal(got.bytes(t), want.bytes(t)) {
		t.Fatalf("round %d: the parts of the store do not agree at %d entries: last %d, %d rows, checkpoints %q, "+
			"snapshot %d",
			round, last, got.last, len(got.rows), got.checkpoints, got.snapshot.Seq)
	}
	return chunks
}

// checkChunks checks that the chunks are the first ones that the helper stores, and are whole.
func checkChunks(t *testing.T, what string, chunks []modelstore.HistoryChunk) {
	t.Helper()
	for n, c := range chunks {
		want := storetest.MakeChunk("c", "h", "events", n, chunkBytes)
		if c.String() != want.String() || !bytes.Equal(c.Data, want.Data) {
			t.Fatalf("%s: %v of %d bytes is there instead of %v", what, &c, len(c.Data), &want)
		}
	}
}
