// Package status keeps conditions and writes status and finalizers: one patch per
// reconcile, only when something changed, and never on a picture that is out of date.
package status
