package panics

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// explode reads beyond the end of a list.
func explode() {
	var none []int
	_ = none[len(os.Args)]
}

// TestGroup proves that the panic of a goroutine arises where the group is waited for, with the stack of the goroutine,
// and only after all others have returned.
func TestGroup(t *testing.T) {
	var g Group
	done := make(chan bool, 1)
	exploded := make(chan struct{})
	g.Go(func() {
		defer close(exploded)
		explode()
	})
	g.Go(func() {
		<-exploded
		done <- true
	})
	caught := Catch(g.Wait)
	if caught == nil || !strings.Contains(caught.Error(), "index out of range") ||
		!strings.Contains(string(caught.Stack), "panics.explode") {
		t.Fatalf("caught %v", caught)
	}
	if len(done) != 1 {
		t.Error("the group did not wait for the other function")
	}
	if again := Catch(func() { Raise(caught) }); again != caught {
		t.Errorf("raised again: %v", again)
	}
}

// TestCatch proves that a function that returns gives no panic, and that an error as the value can be unwrapped.
func TestCatch(t *testing.T) {
	if caught := Catch(func() {}); caught != nil {
		t.Errorf("caught %v", caught)
	}
	reason := errors.New("reason")
	//nolint:forbidigo // what is caught
	if caught := Catch(func() { panic(reason) }); !errors.Is(caught, reason) {
		t.Errorf("caught %v", caught)
	}
}
