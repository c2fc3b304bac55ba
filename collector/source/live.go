package source

import (
	"time"

	"github.com/waitcast/waitcast/job"
)

// Live has the state of a job in the picture of the cluster, with which a listing of the scheduler is compared.
type Live struct {
	job.Attributes
	Submit, Eligible time.Time
	Start            time.Time // zero while it waits
	Held             bool
	Suspended        bool
	Over             time.Time // zero, or the end of a job whose start is unknown
	Split            int       // of an array: number of tasks that have become jobs of their own
}
