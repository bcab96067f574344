// Package instance is what the caches hold of one custom resource: its identity,
// its labels and annotations, and the JSON of the parts that travel. Nothing else
// is kept, so that a hundred thousand instances cost little more than their text.
package instance
