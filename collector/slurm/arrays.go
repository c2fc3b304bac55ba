package slurm

import (
	"strconv"
	"strings"
)

// wholeOf returns the array of a task ("9" of "9_1"), "" if id is not a task.
func wholeOf(id string) string {
	whole, _, ok := strings.Cut(id, "_")
	if !ok {
		return ""
	}
	return whole
}

// throttleTasks copies the throttle of an array to the rows of its separate tasks. squeue shows the throttle only in
// the row of the waiting tasks.
func throttleTasks(rows []row) {
	var of map[string]int
	for i := range rows {
		if r := &rows[i]; r.array && r.Throttle > 0 {
			if of == nil {
				of = map[string]int{}
			}
			of[r.id] = r.Throttle
		}
	}
	for i := range rows {
		if r := &rows[i]; of != nil && r.Throttle == 0 {
			r.Throttle = of[wholeOf(r.id)]
		}
	}
}

// arrays compares the rows of arrays with the picture. Such a row represents the waiting tasks that have no row of
// their own. arrays runs after the comparison of all other rows. The picture may separate a task from its array at
// another time than squeue, so the number of tasks is corrected twice. Tasks that squeue shows as just started are
// added: they leave the array when the log reports their start. Tasks that are separate only in the picture are
// subtracted: they were reported after squeue began its work, or wait again on their own.
func (c *comparison) arrays(rows []row) {
	var apart map[string][]int64
	for i := range rows {
		r := &rows[i]
		if !r.array {
			continue
		}
		if apart == nil {
			apart = c.apart()
		}
		n := r.Tasks + c.left[r.id]
		for _, index := range apart[r.id] {
			if r.tasks.has(index) {
				c.present[r.id+"_"+strconv.FormatInt(index, 10)] = true
				n--
			}
		}
		r.Tasks = max(n, 0)
		c.row(r)
	}
}

// apart returns, by array, the tasks that are separate jobs in the picture but not in squeue.
func (c *comparison) apart() map[string][]int64 {
	tasks := map[string][]int64{}
	for id := range c.picture {
		whole, number, ok := strings.Cut(id, "_")
		if !ok || c.present[id] {
			continue
		}
		if index, err := strconv.ParseInt(number, 10, 64); err == nil {
			tasks[whole] = append(tasks[whole], index)
		}
	}
	return tasks
}
