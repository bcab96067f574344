// Command demo shows what the konnector does, on two real control planes of
// this machine: an API of the provider is used on the consumer, a Widget goes
// up, its status comes down, and at the end everything is taken back.
//
// It runs what a user would type, prints it with what kubectl answers, and
// fails when something is not as it says. The story is in story.go.
package main
