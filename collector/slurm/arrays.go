package slurm

import (
	"strconv"
	"strings"
)

// wholeOf returns the array of a task, "" of what is none: "9" of "9_1".
func wholeOf(id string) string {
	whole, _, ok := strings.Cut(id, "_")
	if !ok {
		return ""
	}
	return whole
}

// arrays compares the rows that stand for the waiting tasks of an array, after all others. What counts is the number of
// tasks that wait and have no row of their own. It is corrected by those that squeue and the picture see apart for the
// moment: tasks that squeue shows as just started are taken off when the log tells so; those that the picture has by
// themselves, and squeue does not, were told since squeue began its work, or wait again on their own.
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

// apart returns the tasks that the picture has by themselves and squeue does not, by array.
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
