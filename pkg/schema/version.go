package schema

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kbind-dev/konnector/pkg/export"
)

// servedVersions returns the versions that a CRD serves, the most preferred first.
func servedVersions(crd *apiextensionsv1.CustomResourceDefinition) []string {
	return export.APIOf(crd).Versions
}

// storageVersion returns the version that a CRD stores, "" when it names none.
func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// commonVersion returns the version in which instances are synced: one that the
// consumer and all others serve, by preference the consumer's storage version, else
// the most preferred. It returns "" where they have none in common.
func commonVersion(consumer *apiextensionsv1.CustomResourceDefinition, others ...*apiextensionsv1.CustomResourceDefinition) string {
	common := servedVersions(consumer)
	for _, other := range others {
		served := servedVersions(other)
		common = slices.DeleteFunc(common, func(version string) bool { return !slices.Contains(served, version) })
	}
	if storage := storageVersion(consumer); slices.Contains(common, storage) {
		return storage
	}
	if len(common) > 0 {
		return common[0]
	}
	return ""
}

// stuckVersions returns the versions in which the consumer may have stored objects and
// which the desired CRD lacks: its API server refuses to let them go.
func stuckVersions(installed, desired *apiextensionsv1.CustomResourceDefinition) []string {
	return slices.DeleteFunc(slices.Clone(installed.Status.StoredVersions), func(stored string) bool {
		return slices.ContainsFunc(desired.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return version.Name == stored
		})
	})
}
