// Package signals catches the signals of a daemon from the start of its process. It catches them while packages are
// initialized, which takes some time in a large program, and not only when main runs. A process that imports the
// package must either receive the signals (Terminated, Hangups) or restore their default effect (with the function that
// Terminated returns, or EndOnHangup).
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

// Terminated returns a context that ends at the first SIGINT or SIGTERM, even one that came before the call. stop
// restores the default effect of the signals.
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

// Hangups returns a channel that receives each SIGHUP, even one that came before the call. Several signals in a short
// time may count once.
func Hangups() <-chan os.Signal { return hangups }

// EndOnHangup restores the default effect of SIGHUP, which ends the process. A command needs this when its terminal
// is closed. If a SIGHUP came before, the process ends now.
func EndOnHangup() {
	signal.Stop(hangups)
	select {
	case <-hangups:
		_ = syscall.Kill(os.Getpid(), syscall.SIGHUP) // the target is this process
	default:
	}
}
