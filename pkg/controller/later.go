package controller

import (
	"errors"
	"fmt"
	"time"
)

// Later is the error of a key that isn't done but has not failed either: what it
// waits for brings no event, so it is looked at again after Delay.
type Later struct {
	Delay  time.Duration
	Reason string
}

// Error returns the delay and the reason.
func (l Later) Error() string {
	return fmt.Sprintf("again in %s: %s", l.Delay, l.Reason)
}

// After returns a [Later] for the delay; reason is what is waited for.
func After(delay time.Duration, reason string) error {
	return Later{Delay: delay, Reason: reason}
}

// Quiet is the error of a failure that somebody else has reported already, such as
// an object that the provider refuses: tried again with growing pauses, not logged as an error.
type Quiet struct {
	Err error
}

// Error returns the text of the error inside.
func (q Quiet) Error() string { return q.Err.Error() }

// Unwrap returns the error inside.
func (q Quiet) Unwrap() error { return q.Err }

// verdict is what the loop does with a key.
type verdict int

const (
	forget verdict = iota
	wait
	retryQuietly
	retry
)

// judge sorts the error of a sync; delay is set for wait alone.
func judge(err error) (v verdict, delay time.Duration) {
	if err == nil {
		return forget, 0
	}
	if later, is := errors.AsType[Later](err); is {
		return wait, later.Delay
	}
	if _, is := errors.AsType[Quiet](err); is {
		return retryQuietly, 0
	}
	return retry, 0
}
