#!/usr/bin/env bash
# Generates everything that follows from the API types: deep copies, clientset with
# fakes, listers, informers, apply configurations, and the CRDs.
# Usage: hack/update-codegen.sh [ROOT]; ROOT is the tree to work in, by default this one.
set -euo pipefail
root="$(cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}" && pwd)"
cd "$root"

module=$(go list -m)
boilerplate=hack/boilerplate.go.txt
GOBIN="${XDG_CACHE_HOME:-$HOME/.cache}/konnector/codegen/$(cat hack/tools/go.sum | sha256sum | cut -c1-12)"
export GOBIN
mkdir -p "$GOBIN"

tool() { go -C hack/tools tool -n "$1"; }
codegen=$(go -C hack/tools list -m -f '{{.Dir}}' k8s.io/code-generator)
# shellcheck source=/dev/null
source "$codegen/kube_codegen.sh"

kube::codegen::gen_helpers --boilerplate "$boilerplate" apis

# The fake clientset can merge an Apply only when it knows the schema of the types, by
# a name that is derived from their Go package: +k8s:openapi-model-package has to agree.
kube::codegen::gen_openapi --boilerplate "$boilerplate" --update-report --report-filename /dev/null \
	--output-model-name-file zz_generated.model_name.go \
	--output-dir generated/openapi --output-pkg "$module/generated/openapi" apis
schema=$(mktemp)
trap 'rm -f "$schema"' EXIT
go run ./hack/models-schema >"$schema"

kube::codegen::gen_client --with-watch --with-applyconfig --applyconfig-openapi-schema "$schema" \
	--output-dir generated --output-pkg "$module/generated" --boilerplate "$boilerplate" apis

rm -rf manifests/crd
"$(tool controller-gen)" crd paths=./apis/... output:crd:dir=manifests/crd
