# make with no target prints what there is. ARGS are handed on to test-unit, test-e2e,
# demo and bench: make test-e2e ARGS='-run Rotation -v', make demo ARGS=--keep.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

ARGS ?=
# VERSION names a release that is built without its git history. Otherwise Go itself
# writes the tag or commit into the binary, on machines that turn that off as well.
VERSION ?=

# Paths of pinned tools (hack/tools/go.mod). The first use compiles them: about three
# minutes for golangci-lint on two cores.
golangci_lint = "$$(go -C hack/tools tool -n golangci-lint)"
logcheck = "$$(go -C hack/tools tool -n logcheck)"

##@ Try

.PHONY: demo
demo: ## Two control planes, one apply, and a Widget's round trip (ARGS=--keep leaves it running)
	go build -o bin/demo ./e2e/cmd/demo && exec bin/demo $(ARGS)

.PHONY: cluster
cluster: ## A control plane of your own until Ctrl-C (NAME=provider)
	@[[ -n "$(NAME)" ]] || { echo "Give it a name: make cluster NAME=provider" >&2; exit 2; }
	go build -o bin/localcluster ./e2e/cmd/localcluster
	exec bin/localcluster up "$(NAME)" $(ARGS)

##@ Build

.PHONY: build
build: ## bin/konnector: static, with its version in it
	CGO_ENABLED=0 go build -trimpath -buildvcs=auto $(if $(VERSION),-ldflags "-X github.com/kbind-dev/konnector/pkg/konnector.version=$(VERSION)") -o bin/ ./cmd/konnector

.PHONY: image
image: ## bin/konnector-image.tar: a multi-arch image from scratch, without Docker (ARGS=--tag=v1)
	go run ./hack/image $(ARGS)

.PHONY: generate
generate: ## Everything that follows from the API types: deep copies, clients, CRDs
	hack/update-codegen.sh

.PHONY: fmt
fmt: ## Format Go code and sort its imports
	$(golangci_lint) fmt ./...

.PHONY: clean
clean: ## Remove what build and test leave in this folder
	rm -rf bin coverage.*

##@ Check

.PHONY: test
test: controlplane ## All tests: units under the race detector, and the suite on real control planes
	go test -race -count=1 -timeout=40m ./...

.PHONY: test-unit
test-unit: ## Unit tests alone, in seconds (ARGS='-run Classify')
	go test -race -short $(ARGS) ./...

.PHONY: test-e2e
test-e2e: controlplane ## The suite on real control planes alone (ARGS='-run Rotation -v')
	go test -race -count=1 -timeout=40m $(ARGS) ./e2e/...

.PHONY: verify
verify: ## Is everything generated, formatted and tidy? Leaves the tree as it is (ARGS='format shell')
	hack/verify.sh $(ARGS)

.PHONY: lint
lint: ## golangci-lint, and logcheck for contextual logging
	$(golangci_lint) run ./...
	vettool=$(logcheck) && go vet -vettool="$$vettool" -check-contextual -check-value ./...

.PHONY: bench
bench: controlplane ## Measure against the raw speed of the API servers (ARGS=--quick)
	go build -o bin/bench ./e2e/bench && exec bin/bench $(ARGS)

# Built before a test needs it, so that its progress is seen: 12 minutes the first time.
.PHONY: controlplane
controlplane:
	@[[ -n "$${KUBEBUILDER_ASSETS:-}" ]] || hack/localcluster/build.sh >/dev/null

##@ Help

.PHONY: help
help: ## This list
	@awk -F ':.*## ' ' \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9-]+:.*## / { printf "  %-12s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)
