// Package panics carries a panic from one goroutine to another. A panic that no one recovers ends the whole process; a
// goroutine that works for one cluster must not end the others.
package panics

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Error is a panic that was recovered.
type Error struct {
	Value any
	// Stack is the stack of the goroutine in which the panic began.
	Stack []byte
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value of the panic if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Catch calls f. If f panics, Catch returns the panic, otherwise nil.
func Catch(f func()) (caught *Error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *Error: // raised again
			caught = value
		default:
			caught = &Error{Value: value, Stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// Raise panics with a caught panic. It does nothing if e is nil.
func Raise(e *Error) {
	if e != nil {
		panic(e) //nolint:forbidigo // the panic happened already, in another goroutine or below
	}
}

// Group is a sync.WaitGroup for functions that may panic. The zero value is an empty group.
type Group struct {
	running sync.WaitGroup
	first   atomic.Pointer[Error]
}

// Go calls f in a goroutine.
func (g *Group) Go(f func()) {
	g.running.Go(func() {
		if caught := Catch(f); caught != nil {
			g.first.CompareAndSwap(nil, caught)
		}
	})
}

// Wait waits until all functions have returned. If one has panicked, Wait panics in its place.
func (g *Group) Wait() {
	g.running.Wait()
	Raise(g.first.Load())
}
