package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon"
)

// roleEnv makes the test binary act as another process. roleArg is the variable with the argument of that role.
const (
	roleEnv = "WAITCAST_TEST_ROLE"
	roleArg = "WAITCAST_TEST_ARG"
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "":
		goleak.VerifyTestMain(m)
	case "daemon":
		os.Exit(playDaemon(os.Getenv(roleArg)))
	case "writer":
		os.Exit(playWriter(os.Getenv(roleArg)))
	default:
		fmt.Fprintf(os.Stderr, "%s=%s: no such role\n", roleEnv, role)
		os.Exit(2)
	}
}

// playDaemon runs a daemon on a configuration file until SIGTERM.
func playDaemon(file string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := func() error {
		cfg, err := config.Load(file, nil)
		if err != nil {
			return err
		}
		log, err := daemon.NewLogger(cfg.Log)
		if err != nil {
			return err
		}
		hangups, reload := make(chan os.Signal, 1), make(chan struct{}, 1)
		signal.Notify(hangups, syscall.SIGHUP)
		go func() {
			for range hangups {
				reload <- struct{}{}
			}
		}()
		return daemon.Run(ctx, cfg, daemon.Options{
			Log: log, Version: "test", Reload: reload, Load: func() (*config.Config,
				error) {
				return config.Load(file, nil)
			},
		})
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
