package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/waitcast/waitcast/collector"
	"github.com/waitcast/waitcast/config"
	"github.com/waitcast/waitcast/daemon/systemd"
	"github.com/waitcast/waitcast/history"
)

// Run starts a daemon and waits until ctx ends or the daemon cannot continue. It reloads when Options.Reload receives
// a value and when the configuration file has changed.
func Run(ctx context.Context, cfg *config.Config, opts Options) error {
	d := New(cfg, opts)
	// Created before the start, which may take long, so that a change during the start is noticed.
	file := newFileWatch("")
	if opts.Load != nil {
		file = newFileWatch(cfg.File)
	}
	manager := systemd.New(d.opts.Log)
	err := manager.Start(d.startLine, func() error { return d.Start(ctx) })
	switch {
	case err != nil && ctx.Err() != nil: // a start that was cancelled is no failure
		d.opts.Log.Info("stopped while starting", zap.NamedError("start", err))
		return nil
	case err != nil:
		return err
	}
	d.opts.Log.Info("serving", zap.String("url", d.frontend.Load().url()), zap.String("database", databaseName(cfg)))
	stopping := manager.Serve(d.service())
	err = d.work(ctx, manager, file)
	stopping()
	return errors.Join(err, d.Stop())
}

// work waits for requests to stop or reload, for changes of the configuration file, and for a failure.
func (d *Daemon) work(ctx context.Context, manager *systemd.Manager, file *fileWatch) error {
	look := time.NewTicker(configPollInterval)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-d.Failed():
			return err
		case <-d.opts.Reload:
			file = newFileWatch(file.path)
			manager.Reload(func() { d.reloadFrom(ctx, "it was asked for") })
		case <-look.C:
			if file.changed() {
				manager.Reload(func() { d.reloadFrom(ctx, "the file has changed") })
			}
		}

	}
}

// OneShotConfig returns the configuration of --one-shot. Without files it is the usual configuration; otherwise the
// files are the logs of one cluster, in the given order. Without a configuration file, the models use the whole log and
// forget nothing.
func OneShotConfig(flags *pflag.FlagSet, files []string) (*config.Config, error) {
	if len(files) > 0 {
		if flags.Changed("path") {
			return nil, errors.New("give the files either as arguments or by --path")
		}
		if err := flags.Set("path", files[0]); err != nil {
			return nil, err
		}
		if err := chooseFormat(flags, files[0]); err != nil {
			return nil, err
		}
	}
	cfg, err := config.Load("", flags)
	if err != nil {
		return nil, err
	}
	if cfg.File == "" {
		cfg.Models.WindowJobs, cfg.Models.WindowAge, cfg.Models.MarkovForget = 0, 0, 0
	}
	for i := range files {
		s := cfg.Clusters[0].Sources[0]
		s.Name, s.Path = fmt.Sprintf("%s-%d", s.Format, i+1), files[i]
		s.Rotated = []string{} // read only the files that were named
		if i == 0 {
			cfg.Clusters[0].Sources[0] = s
		} else {
			cfg.Clusters[0].Sources = append(cfg.Clusters[0].Sources, s)
		}
	}
	return cfg, nil
}

// logFormats returns the formats of logs that can be followed or read once.
func logFormats() []collector.Format {
	return slices.DeleteFunc(history.Formats(time.Now), func(f collector.Format) bool { return f.Records != nil })
}

// chooseFormat sets the flag of the format if it is not given. It guesses the format from the name of a file or from
// its content. It returns an error if the given format is not a format of logs.
func chooseFormat(flags *pflag.FlagSet, path string) error {
	if given := flags.Lookup("format"); given.Changed {
		if _, err := history.Named(logFormats(), given.Value.String()); err != nil {
			return fmt.Errorf("--format: %w", err)
		}
		return nil
	}
	format := guessFormat(path)
	if format == "" {
		found, err := history.FormatOf(path, &history.Config{Formats: logFormats(), Now: time.Now()})
		if errors.Is(err, history.ErrUnrecognized) {
			return fmt.Errorf("%s: %w; give its format by --format: %s", path, history.ErrUnrecognized,
				strings.Join(history.Names(logFormats()), ", "))
		}
		if err != nil {
			return err
		}
		format = found.Name
	}
	return flags.Set("format", format)
}

// guessFormat guesses a format from the name of a file. It returns "" if the name does not tell.
func guessFormat(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	if strings.HasSuffix(name, ".swf") {
		return "swf"
	}
	if _, err := time.Parse("20060102", name); err == nil {
		return "pbs"
	}
	return ""
}
