package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// demo is one run.
type demo struct {
	*printer
	*shell
	began  time.Time
	cancel context.CancelCauseFunc // ends the story when a part of it dies

	clusters  map[string]*cluster
	konnector *konnector // nil before it is started
}

// newDemo returns a demo that has made its folder and nothing else.
func newDemo(ctx context.Context, p *printer) (*demo, error) {
	root, err := repositoryRoot(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "konnector-demo-")
	if err != nil {
		return nil, err
	}
	return &demo{
		printer: p, shell: newShell(root, dir), began: time.Now(),
		clusters: map[string]*cluster{consumer: {name: consumer}, provider: {name: provider}},
	}, nil
}

// run tells the story and takes everything back, however it ends. With keep it
// leaves the end of the story out and waits for an interrupt instead.
func (d *demo) run(ctx context.Context, keep bool) error {
	ctx, d.cancel = context.WithCancelCause(ctx)
	defer d.cancel(nil)
	err := d.tell(ctx, keep)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause // whatever failed did so because of it
		}
		if d.konnector != nil && !errors.As(err, new(interrupted)) {
			d.explain(ctx)
		}
	}
	d.line("\nStopping both clusters and the konnector ...")
	left := d.end()
	if left == nil {
		d.line("Nothing is left behind.")
	}
	if err == nil && left == nil && !keep {
		d.title(fmt.Sprintf("Done in %s: %d steps, each as announced.", seconds(time.Since(d.began)), d.steps))
	}
	return errors.Join(err, left)
}

func (d *demo) tell(ctx context.Context, keep bool) error {
	d.title(title + "\n")
	d.text(introduction)
	if err := d.play(ctx, story); err != nil {
		return err
	}
	if keep {
		return d.wait(ctx)
	}
	return d.play(ctx, ending)
}

func (d *demo) play(ctx context.Context, steps []step) error {
	for _, each := range steps {
		if err := each.play(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// wait tells how to look around and returns when somebody has interrupted us.
func (d *demo) wait(ctx context.Context) error {
	d.title(fmt.Sprintf("Done in %s. Everything goes on running; to look around, type in another terminal:", seconds(time.Since(d.began))))
	d.command(d.exports() + `
kubectl --context consumer get kbind,widgets
kubectl --context provider get widgets --watch
tail -f $DEMO/` + logFile)
	d.title("Ctrl-C ends everything and leaves nothing behind.")
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.As(cause, new(interrupted)) {
		return cause
	}
	return nil
}

// explain shows what the consumer and the konnector have to say when the story
// has come to a bad end.
func (d *demo) explain(ctx context.Context) {
	// The story's context may be the one that has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	const state = "kubectl --context consumer get kbind -o wide"
	out, _ := d.shell.run(ctx, state)
	fmt.Fprintf(os.Stderr, "\n--- %s\n%s", state, out)
	fmt.Fprintf(os.Stderr, "\n--- the last lines of the konnector's log\n%s\n", tail(d.path(logFile), logLines))
}

// show runs a command line and prints it with what it has answered.
func (d *demo) show(ctx context.Context, line string) (string, error) {
	d.command(line)
	out, err := d.shell.run(ctx, line)
	if err == nil {
		d.output(out)
	}
	return out, err
}

// end ends all processes, the konnector first, and removes the folder.
func (d *demo) end() error {
	var errs []error
	if d.konnector != nil {
		errs = append(errs, d.konnector.stop())
	}
	other := make(chan error)
	go func() { other <- d.clusters[provider].stop() }()
	errs = append(errs, d.clusters[consumer].stop(), <-other, os.RemoveAll(d.dir))
	return errors.Join(errs...)
}
