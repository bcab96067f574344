// Package ownership is about who owns what on the provider: the marks on copies,
// what an object found under a wanted name means, what a copy has to look like,
// and whether its fields are still ours.
package ownership
