// Package export is what providers offer: the CRDs that carry the exported label,
// minus what is never exported. A [Catalog] follows one provider by watch; the
// [Catalogs] of all Connections are where the binding controller looks.
package export
