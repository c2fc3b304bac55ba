// Package tail follows the append-only accounting logs of batch schedulers and
// hands out complete lines together with checkpoints, so that a consumer who
// commits both in one transaction sees every line exactly once, however often
// it is killed and however the logs are rotated meanwhile.
//
// One Tailer follows one source: a file with its rotated predecessors, or a
// directory of date-named files. It is pulled: the caller's goroutine does all
// the reading inside Next, and stopping to call Next is the back pressure. The
// only goroutine of the package turns file system events into wake-ups; a slow
// poll is the truth, since NFS has no events.
//
// A tailer keeps a small table of the files it knows. Of each it remembers
// device and inode, a hash of the head, a hash of the bytes just before the
// offset, the offset and the line number; that table is the checkpoint. After
// a restart a file is the known one only if all of it agrees, else it is looked
// for under the other names, by content: a compressed or copied log has
// another inode. What is in no entry of the table is new and read from its
// beginning. docs/tailing.md tells the guarantees, the steps and the known
// losses.
package tail
