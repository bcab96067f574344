package main

import (
	"context"
	"fmt"
	"strings"
)

// step is one point of the story.
type step struct {
	title string
	text  string // a sentence or two
	do    []action
}

// action is something that happens in a step.
type action interface {
	play(ctx context.Context, d *demo) error
}

// code is what no command line does.
type code func(ctx context.Context, d *demo) error

// command is a command line that has to succeed.
type command string

// look is a command line that shows something.
type look struct {
	run   string
	shows string // how a line has to begin; a space stands for any number of them
	hides string // how no line may begin; empty for nothing
}

// change is a command line that leads to something elsewhere.
type change struct {
	run     string
	cause   sighting // what the command itself does: time counts from here
	effects []sighting
	result  string // what is so once all effects are there
}

func (s step) play(ctx context.Context, d *demo) error {
	d.step(s.title)
	if s.text != "" {
		d.text(s.text)
	}
	for _, each := range s.do {
		if err := each.play(ctx, d); err != nil {
			return fmt.Errorf("step %d (%s): %w", d.steps, s.title, err)
		}
	}
	return nil
}

func (c code) play(ctx context.Context, d *demo) error { return c(ctx, d) }

func (c command) play(ctx context.Context, d *demo) error {
	_, err := d.show(ctx, string(c))
	return err
}

func (l look) play(ctx context.Context, d *demo) error {
	out, err := d.show(ctx, l.run)
	if err != nil {
		return err
	}
	return l.check(out)
}

// check returns an error unless the output is as it has to be.
func (l look) check(out string) error {
	text := "\n"
	for line := range strings.Lines(out) {
		text += strings.Join(strings.Fields(line), " ") + "\n"
	}
	if !strings.Contains(text, "\n"+l.shows) {
		return fmt.Errorf("no line begins with %q in what is shown by: %s", l.shows, l.run)
	}
	if l.hides != "" && strings.Contains(text, "\n"+l.hides) {
		return fmt.Errorf("a line begins with %q in what is shown by: %s", l.hides, l.run)
	}
	return nil
}

func (c change) play(ctx context.Context, d *demo) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the watches
	expected, err := expect(ctx, d, c)
	if err != nil {
		return err
	}
	if _, err := d.show(ctx, c.run); err != nil {
		return err
	}
	took, err := expected.wait(ctx)
	if err != nil {
		return fmt.Errorf("%w, after: %s", err, c.run)
	}
	d.arrived(c.result, took)
	return nil
}
