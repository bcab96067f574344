// Package kubeconfig turns the bytes of a Secret into a client configuration, or into
// a Refusal that names the field and what to do about it.
//
// The bytes are untrusted: whoever may write the Secret must not be able to run a
// program, read a file or reach an environment variable of the konnector. So only data
// that stands in the kubeconfig itself is taken, and exec plugins, auth providers and
// paths are refused by name. Nothing is opened, run or dialled here.
//
// Parse reads in this order: size and shape of the text (bounds.go), the entries that
// the current context leads to (file.go) without what is refused (refused.go), then
// what those hold (cluster.go, user.go, certificate.go). Entries of other contexts are neither checked nor copied.
//
// No value of a credential, and no text of a decoder that might quote one, gets into
// a Refusal. Only names of contexts, clusters and users do.
package kubeconfig
