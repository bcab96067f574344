// Package schema turns an API that a provider offers into a CRD on the consumer.
//
// [Copy] makes of the provider's CRD one that a consumer can serve alone, [Hash]
// tells whether two CRDs mean the same, and [Mark] writes down which Connection
// installed one. [Decide] takes the facts about one API and returns a [Verdict]:
// what has to be written, whether instances may be synced, in which version, and
// what the condition SchemaInSync says. [Installer], [Remove] and [Release] do the
// writing, one call each; [Refused] is the verdict after a write that was refused.
package schema
