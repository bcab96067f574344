// Package konnector puts the parts of the konnector together. It is the only place
// that knows all of them: what feeds what, what starts when, and what ends first.
package konnector
