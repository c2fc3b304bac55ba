package ask_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/waitcast/waitcast/api/ask"
	"github.com/waitcast/waitcast/api/wire"
	"github.com/waitcast/waitcast/cluster"
	"github.com/waitcast/waitcast/pipeline/readmodel"
)

// unread has the views of one cluster without records.
type unread struct{ view *readmodel.View }

func (u unread) View(name string) *readmodel.View {
	if name == u.view.Cluster {
		return u.view
	}
	return nil
}

func (u unread) Views() []*readmodel.View   { return []*readmodel.View{u.view} }
func (u unread) Published() <-chan struct{} { return nil }

// TestRefusals proves that the use cases return refusals that do not depend on HTTP, and distinguish permanent from
// temporary ones.
func TestRefusals(t *testing.T) {
	views := unread{&readmodel.View{View: &cluster.View{Cluster: "main"}}}
	s := ask.New(views, ask.Options{StaleAfter: time.Hour, Now: time.Now, Log: zap.NewNop()})
	wait := func(r ask.WaitRequest) error {
		_, err := s.Wait(&r)
		return err
	}
	_, now := s.Now(ask.NowRequest{})
	_, size := s.Size(&wire.SizeRequest{}, nil)
	for name, c := range map[string]struct {
		err    error
		kind   ask.Kind
		reason string
	}{
		"another cluster":  {wait(ask.WaitRequest{Cluster: "other", Procs: 1}), ask.KindNotFound, ""},
		"no processors":    {wait(ask.WaitRequest{}), ask.KindInvalid, ""},
		"a bad time limit": {wait(ask.WaitRequest{Procs: 1, TimeLimit: "soon"}), ask.KindInvalid, ""},
		"a good question":  {wait(ask.WaitRequest{Procs: 1}), ask.KindUnavailable, "nothing_read"},
		"now":              {now, ask.KindUnavailable, "nothing_read"},
		"size":             {size, ask.KindUnavailable, "nothing_read"},
	} {
		var refused *ask.Refusal
		if !errors.As(c.err, &refused) {
			t.Errorf("%s: error %v, want a refusal", name, c.err)
			continue
		}
		if refused.Kind != c.kind || string(refused.Reason) != c.reason || refused.Detail == "" {
			t.Errorf("%s: refused %+v, want kind %d and reason %q", name, refused, c.kind, c.reason)
		}
	}
}
