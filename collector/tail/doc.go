// Package tail follows the append-only accounting logs of batch schedulers. It returns complete lines together with
// checkpoints. A consumer that commits both in one transaction gets every line exactly once, however often it is killed
// and however the logs are rotated meanwhile.
//
// One Tailer follows one source: a file with its rotated predecessors, or a directory of date-named files. All reading
// happens inside Next, in the caller's goroutine, so a slow caller slows the reading. The only goroutine of the package
// turns file system events into wake-ups. The wake-ups only save time: a slow poll suffices for correct results,
// because NFS has no such events.
//
// A tailer keeps a small table of the known files. Of each file it has the device and inode, a hash of the head, a hash
// of the bytes just before the offset, the offset and the line number. This table is the checkpoint. After a restart a
// file counts as a known one only if all of these agree. Otherwise the known file is searched by content under the
// other names, because a compressed or copied log has another inode. A file without an entry in the table is new, and
// is read from its beginning. docs/tailing.md has the guarantees and the known losses.
package tail
