#!/usr/bin/env bash
# Checks that the tree is as its generators and formatters would leave it. Works in
# a copy, so that the tree itself is never touched, and runs all checks even when one
# fails; each failure comes with the command that mends it.
# Usage: hack/verify.sh [CHECK...]; a CHECK is the first word of a line below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checks=(
	"format        make fmt"
	"whitespace    an editor that reads .editorconfig"
	"shell         bash -n FILE, and an editor"
	"manifests     make generate for manifests/crd, an editor for the rest"
	"modules       go mod tidy; go -C hack/tools mod tidy; go -C hack/localcluster mod tidy"
	"dependencies  go mod why -m MODULE, and another way to do it"
	"vet           go vet ./..."
	"generated     make generate"
)

# --- the checks: each runs at the top of the copy and says what is wrong ---

check_format() {
	local diff
	diff=$(files '*.go' | xargs -0 gofmt -s -d) && [[ -z $diff ]] || fail "$diff"
}

check_whitespace() {
	local found
	found=$(files ':(exclude)*/testdata/*' | xargs -0 grep -nIE '[[:blank:]]+$|^(<<<<<<<|>>>>>>>)( |$)' --) || true
	[[ -z $found ]] || fail "$found"
}

check_shell() {
	files '*.sh' .ci/run | xargs -0 -n 1 bash -n
}

check_manifests() {
	files 'manifests/*.yaml' | xargs -0 go run ./hack/verify-yaml
}

check_modules() {
	local module wrong=
	for module in . hack/tools hack/localcluster; do
		go -C "$module" mod tidy -diff || wrong+=" $module"
	done
	[[ -z $wrong ]] || fail "not tidy:$wrong"
}

check_dependencies() {
	local packages
	packages=$(go list -deps -test ./...) || return 1
	! grep '^sigs\.k8s\.io/controller-runtime' <<<"$packages" &&
		! grep -E '^[[:blank:]]*(require )?(k8s\.io/kubernetes|sigs\.k8s\.io/controller-runtime) ' go.mod
}

check_vet() {
	go vet ./...
}

check_generated() {
	local folder same=yes
	cp -R . ../generated && bash ../generated/hack/update-codegen.sh ../generated || return 1
	for folder in apis generated manifests; do
		diff -ruN "$folder" "../generated/$folder" || same=no
	done
	[[ $same == yes ]]
}

# --- what runs them ---

fail() {
	echo "$1"
	return 1
}

# files prints the paths of the copy that match a git pathspec, each ended by NUL.
files() {
	(cd "$tree" && git ls-files -co --exclude-standard -z --deduplicate -- "$@") |
		while IFS= read -rd '' path; do
			if [[ -f $path ]]; then printf '%s\0' "$path"; fi # not what is deleted, nor a link
		done
}

mend() {
	local line
	for line in "${checks[@]}"; do
		if [[ ${line%% *} == "$1" ]]; then sed 's/^[^ ]* *//' <<<"$line"; fi
	done
}

run() {
	local name=$1 start=$SECONDS
	if "check_$name" >"$scratch/log" 2>&1 </dev/null; then
		printf 'ok      %-13s %3d s\n' "$name" $((SECONDS - start))
		return
	fi
	printf 'FAILED  %-13s %3d s\n' "$name" $((SECONDS - start))
	head -n 100 "$scratch/log" | sed 's/^/        /'
	if (($(wc -l <"$scratch/log") > 100)); then echo "        ... and more"; fi
	echo "        Mend it with: $(mend "$name")"
	failed+=("$name")
}

wanted=("$@")
if ((${#wanted[@]} == 0)); then wanted=("${checks[@]%% *}"); fi
for name in "${wanted[@]}"; do
	if [[ -z $(mend "$name") ]]; then
		echo "hack/verify.sh: no check is called $name; there are: ${checks[*]%% *}" >&2
		exit 2
	fi
done

tree=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/tree"
files | tar -c -f - --null -T - | tar -x -C "$scratch/tree"
cd "$scratch/tree"

failed=()
for name in "${wanted[@]}"; do run "$name"; done
if ((${#failed[@]} > 0)); then
	echo "FAILED: ${failed[*]}"
	exit 1
fi
