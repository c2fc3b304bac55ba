// Package signals catches the signals of a daemon from the start of its process: they are caught while the packages are
// initialized, which takes a large program some time, and not only when main runs. A process that imports the package
// must take them (Terminated, Hangups) or restore what they do (stop, EndOnHangup).
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

//nolint:gochecknoglobals // signals belong to the process, and must be caught before main
var (
	terminations = catch(os.Interrupt, syscall.SIGTERM)
	hangups      = catch(syscall.SIGHUP)
)

func catch(which ...os.Signal) chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, which...)
	return c
}

// Terminated returns a context that ends at the first SIGINT or SIGTERM, also one that came before the call. stop
// restores what the signals do by default.
func Terminated(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		select {
		case <-terminations:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(terminations)
		cancel()
	}
}

// Hangups returns a channel that receives each SIGHUP, also one that came before the call; several in a row count once.
func Hangups() <-chan os.Signal { return hangups }

// EndOnHangup restores that SIGHUP ends the process, as it has to end a command whose terminal has gone. One that came
// before ends it now.
func EndOnHangup() {
	signal.Stop(hangups)
	select {
	case <-hangups:
		_ = syscall.Kill(os.Getpid(), syscall.SIGHUP) // the target is this process
	default:
	}
}
