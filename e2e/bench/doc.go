// Command bench measures the konnector between two real control planes of this
// machine, and compares it with what the same API servers do when the same calls
// are made straight to them. It prints a table, and writes JSON and a plot.
//
// Raw and konnector measurements alternate in one run, since a machine is rarely
// quiet. How long something takes is read from the API servers' audit logs where
// that is possible, so that watching costs them nothing. Nothing is asserted but
// that both sides are equal at the end: the program then fails.
//
// docs/performance.md tells what each figure means.
package main
