package tail
import "fmt"
func (w *world) dump() {
	if w.tailer == nil { return }
	for _, f := range w.tailer.files {
		st, _ := statPath(f.cand.path)
		fmt.Println(f.cand.path[len(f.cand.path)-8:], "off", f.Offset, "size", st.size, "done", f.Done, "copy", f.Copy, "open", f.src != nil, "armed", f.armed, "atEnd", f.atEnd, "rest", f.rest, "hasNext", f.hasNext, "bound", f.bound, "hl", f.HeadLen, "judged", f.judged, "quiet", w.clock.now.Sub(f.quiet), "primary", f.cand.primary)
	}
	fmt.Println("unsettled", w.tailer.unsettled, "rescan", w.tailer.rescan)
}
