package ownership

import (
	"fmt"
	"strings"
)

// defaultExclusions are the labels and annotations that belong to the tools which
// deploy an object on the consumer. On the provider they would make such a tool
// take the copy for its own, and prune it.
var defaultExclusions = []string{
	"kubectl.kubernetes.io/*",
	"kbind.io/*", "*.kbind.io/*",
	// Helm
	"app.kubernetes.io/managed-by", "meta.helm.sh/*", "helm.sh/*",
	// Argo CD
	"app.kubernetes.io/instance", "argocd.argoproj.io/*",
	// Flux
	"*.toolkit.fluxcd.io/*",
	// kapp
	"kapp.k14s.io/*",
	// kubectl apply sets
	"applyset.kubernetes.io/*",
	// Config Sync and other users of cli-utils
	"configmanagement.gke.io/*", "configsync.gke.io/*", "config.k8s.io/*",
	// Velero
	"velero.io/*", "*.velero.io/*",
}

// Exclusions tell which labels and annotations don't travel.
type Exclusions struct {
	keys     map[string]bool // exact keys
	prefixes map[string]bool // "example.org" for example.org/*
	suffixes []string        // ".example.org" for *.example.org/*
}

// DefaultExclusions returns the built-in list as text, for documentation.
func DefaultExclusions() []string {
	return append([]string(nil), defaultExclusions...)
}

// NewExclusions returns the built-in exclusions and more. A pattern is a whole
// key, all keys of a domain ("example.org/*") or of its subdomains ("*.example.org/*").
func NewExclusions(more ...string) (*Exclusions, error) {
	exclusions := &Exclusions{keys: map[string]bool{}, prefixes: map[string]bool{}}
	for _, pattern := range append(DefaultExclusions(), more...) {
		domain, all := strings.CutSuffix(pattern, "/*")
		parent, below := strings.CutPrefix(domain, "*.")
		switch {
		case strings.Contains(parent, "*") || parent == "" || (below && !all):
			return nil, fmt.Errorf("%q is no pattern for labels and annotations: want a key, example.org/* or *.example.org/*", pattern)
		case below:
			exclusions.suffixes = append(exclusions.suffixes, "."+parent)
		case all:
			exclusions.prefixes[domain] = true
		default:
			exclusions.keys[pattern] = true
		}
	}
	return exclusions, nil
}

// Excluded reports whether a label or annotation stays on the consumer.
func (e *Exclusions) Excluded(key string) bool {
	if e.keys[key] {
		return true
	}
	domain, _, hasDomain := strings.Cut(key, "/")
	if !hasDomain {
		return false
	}
	if e.prefixes[domain] {
		return true
	}
	for _, suffix := range e.suffixes {
		if strings.HasSuffix(domain, suffix) {
			return true
		}
	}
	return false
}

// travelling returns the labels or annotations that go to the provider, with room
// for marks.
func (e *Exclusions) travelling(all map[string]string) map[string]string {
	result := make(map[string]string, len(all)+6)
	for key, value := range all {
		if !e.Excluded(key) {
			result[key] = value
		}
	}
	return result
}
