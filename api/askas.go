package api

import (
	"context"

	"github.com/waitcast/waitcast/api/access"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline"
)

// mayAskAs refuses a question in the name of a user or an account whom the caller may not ask for.
func (s *Server) mayAskAs(ctx context.Context, user, account string) error {
	if p := s.guard.MayAskAs(access.Of(ctx), user, account); p != nil {
		return s.refusal(p)
	}
	return nil
}

// maySize is mayAskAs for a question of sizes, which may rest on the runs of some user's program, and on a job that runs.
func (s *Server) maySize(ctx context.Context, req *wire.SizeRequest) error {
	if err := s.mayAskAs(ctx, req.User, req.Account); err != nil {
		return err
	}
	if h := req.Runtime.History; h != nil {
		if err := s.mayAskAs(ctx, h.User, ""); err != nil {
			return err
		}
	}
	if r := req.Running; r == nil || r.JobID == "" || s.guard.SeesOthers(access.Of(ctx)) {
		return nil
	}
	if p := s.guard.Need(access.Of(ctx), access.User); p != nil {
		return s.refusal(p)
	}
	for _, v := range s.views.Views() {
		for _, j := range v.Running {
			if j.ID == req.Running.JobID && access.Of(ctx).Own(j.User) {
				return nil
			}
		}
	}
	return notFound("no job of yours with this id runs")
}

// visibility is how much of the jobs a caller may see.
type visibility struct {
	server *Server
	caller access.Caller
	all    bool
}

func (s *Server) visibilityFor(ctx context.Context) visibility {
	c := access.Of(ctx)
	return visibility{s, c, s.guard.SeesOthers(c)}
}

// sees says whether a caller sees a waiting job.
func (a visibility) sees(j *cluster.Job) bool { return a.all || a.caller.Own(j.User) }

// any refuses a caller who sees no jobs at all.
func (a visibility) any() error {
	if a.all {
		return nil
	}
	if p := a.server.guard.Need(a.caller, access.User); p != nil {
		return a.server.refusal(p)
	}
	return nil
}

// redact takes out which other jobs a job waits for, if the caller sees only the own ones.
func (a visibility) redact(out *wire.Job, waits []pipeline.Pivot) {
	if a.all || len(out.WaitsFor) == 0 && out.MovedBy != string(pipeline.MovedOverrun) {
		return
	}
	if out.WaitsFor != nil {
		out.WaitsFor = a.pivots(waits)
	}
	if out.MovedBy == string(pipeline.MovedOverrun) { // the sentence names one
		out.Moved = "a job for whose end it waits runs longer than 9 in 10 such jobs"
	}
}

// waitForSlot waits for a slot in which an expensive question may be computed.
func (s *Server) waitForSlot(ctx context.Context) (done func(), err error) {
	done, p := s.guard.Acquire(ctx)
	if p != nil {
		return nil, s.refusal(p)
	}
	return done, nil
}

// name adds whose job it is, as far as the caller may know.
func (a visibility) name(j *cluster.Job, out *wire.Job) {
	out.User = a.server.guard.NameFor(a.caller, j.User)
	if a.caller.Role == access.Admin || a.caller.Own(j.User) {
		out.Account, out.Name = j.Account, j.Name
	}
}

// pivots tells of the running jobs whose ends a start hangs on; which ones they are only to those who see others' jobs.
func (a visibility) pivots(all []pipeline.Pivot) []wire.Pivot {
	out := pivots(all)
	for i := range out {
		if !a.sees(all[i].Job) {
			out[i].ID = ""
		}
	}
	return out
}
