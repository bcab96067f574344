// Package controller is the one loop that all controllers of the konnector run:
// keys wait in a rate-limited queue, workers take them out, and one function per
// controller brings the world a step nearer to the wish for a key. It knows
// nothing of kbind.
//
// The error that the function returns decides what happens to the key: nil
// forgets it, a [Later] tries again after a fixed time without counting as a
// failure, and any other error is logged and tried again with growing pauses.
package controller
