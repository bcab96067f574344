// Package e2e tests the konnector on real control planes: the built binary, with
// the rights that it needs and no more, between API servers that keep an audit log.
//
// The suite shares two control planes. Each test has a world of its own in them: an
// API group, namespaces, users and Connections that nobody else uses, and a
// konnector of its own, which ends with the test.
package e2e
