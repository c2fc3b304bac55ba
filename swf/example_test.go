package swf_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/waitcast/waitcast/swf"
)

// ExampleReader reads two jobs of a log and prints what they used.
func ExampleReader() {
	const log = `; MaxProcs: 128
1   0 10 3600 16 -1 -1 16 7200 -1 1 3 1 -1 1 -1 -1 -1
2 100  0   60  1 -1 -1  1  600 -1 1 4 1 -1 1 -1 -1 -1
`
	r := swf.NewReader(strings.NewReader(log))
	var job swf.Record
	for {
		err := r.Next(&job)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("job %d waited %d s and used %d processor seconds\n", job.ID, job.Wait, job.Procs()*job.Runtime)
	}
	// Output:
	// job 1 waited 10 s and used 57600 processor seconds
	// job 2 waited 0 s and used 60 processor seconds
}

// ExampleWriter writes a job whose wait, memory and user are not known.
func ExampleWriter() {
	job := swf.Record{ID: 1, Submit: 30, Runtime: 60, Allocated: 4, RequestedProcs: 4, TimeLimit: 600, Status: 1}
	for _, unknown := range []*int64{&job.Wait, &job.Memory, &job.RequestedMem, &job.User, &job.Group, &job.Executable,
		&job.Queue, &job.Partition, &job.Preceding, &job.ThinkTime} {
		*unknown = swf.Unknown
	}
	job.CPUTime = swf.Unknown
	w := swf.NewWriter(os.Stdout)
	if err := errors.Join(w.Write(&job), w.Flush()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 30 -1 60 4 -1 -1 4 600 -1 1 -1 -1 -1 -1 -1 -1 -1
}
