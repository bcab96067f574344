// Package access tells why an API server said no, or said nothing at all.
//
// Classify sorts an error into a Kind, so that callers choose what to do by a
// word instead of by an HTTP status: a 403, for example, may mean missing RBAC, a
// used-up quota, an admission policy or a namespace that is being deleted. Message
// and Describe put the same error into words for a condition or an Event: the
// server's words made safe, or a sentence with a remedy for a failed connection.
//
// Action names one request in the terms of RBAC. A Reviewer asks the server whether
// an Action is allowed and remembers the answer for a while; a Kind of Denied that
// rests on the words of a server alone is confirmed with it.
//
// It is used by everything that talks to a cluster, and knows nothing of kbind.
package access
