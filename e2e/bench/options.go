package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// options are what a user can set.
type options struct {
	instances   []int
	full, quick bool
	rounds      int
	changes     int
	concurrency int
	workers     int
	idle        time.Duration
	json, svg   string
	profile     string
	keep        bool

	connections []int // derived
}

func newOptions() *options {
	return &options{instances: []int{1000, 5000}, rounds: 3, changes: 300, concurrency: 64, idle: time.Minute}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.IntSliceVar(&o.instances, "instances", o.instances, "Numbers of instances to measure with.")
	flags.BoolVar(&o.full, "full", false, "Also 10000 instances, 100 Connections, and a provider with 20000 objects of others.")
	flags.BoolVar(&o.quick, "quick", false, "A smoke run of about a minute: one round, few changes, and 200 instances unless --instances says otherwise.")
	flags.IntVar(&o.rounds, "rounds", o.rounds, "How often bulk work is measured; medians are reported.")
	flags.IntVar(&o.changes, "changes", o.changes, "Single changes in each direction, for the latency.")
	flags.IntVar(&o.concurrency, "concurrency", o.concurrency, "Calls at a time in raw measurements, and while objects are prepared.")
	flags.IntVar(&o.workers, "workers", 0, "The konnector's --workers; 0 for its default.")
	flags.DurationVar(&o.idle, "idle", o.idle, "How long the konnector is watched at rest.")
	flags.StringVar(&o.json, "json", "", "Write all figures to this file.")
	flags.StringVar(&o.svg, "svg", "", "Write a plot to this file.")
	flags.StringVar(&o.profile, "profile", "", "Write CPU and heap profiles of the konnector into this folder. It then runs inside of this program's binary.")
	flags.BoolVar(&o.keep, "keep", false, "Leave logs and data of clusters and konnector in place.")
}

// complete derives what the flags imply, and says what is wrong with them.
func (o *options) complete() error {
	o.connections = []int{1, 10}
	if o.full {
		o.instances = append(o.instances, 10000)
		o.connections = append(o.connections, 100)
	}
	if o.quick {
		if o.full {
			return errors.New("--quick and --full exclude each other")
		}
		if slices.Equal(o.instances, newOptions().instances) { // not given
			o.instances = []int{200}
		}
		o.rounds, o.changes, o.idle = 1, 30, 5*time.Second
		o.connections = []int{1, 3}
	}
	slices.Sort(o.instances)
	o.instances = slices.Compact(o.instances)
	if len(o.instances) == 0 || o.instances[0] < 2 {
		return errors.New("--instances: need numbers of at least 2")
	}
	if o.rounds < 1 || o.changes < 1 || o.concurrency < 1 {
		return errors.New("--rounds, --changes and --concurrency have to be at least 1")
	}
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil {
			return fmt.Errorf("--profile: %w", err)
		}
	}
	return nil
}
