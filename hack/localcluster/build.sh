#!/usr/bin/env bash
# Builds etcd, kube-apiserver and kube-controller-manager from their Go modules and
# prints the folder that holds them. The folder is named after everything that the
# build depends on, so a second call costs next to nothing and a new version never
# meets an old binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

kube=$(sed -n 's|^\t*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' go.mod)
key=$(cat go.mod go.sum main.go build.sh <(go version) | sha256sum | cut -c1-12)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/konnector/controlplane"
out="$cache/$kube-$key"

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9 # two test runs at once build once
if [[ ! -x $out/kube-apiserver ]]; then
	say() { echo "[controlplane] $*" >&2; }
	major=${kube#v} minor=${kube#v*.}
	say "Building etcd and Kubernetes $kube from source, once for this version."
	say "On two cores this takes about 12 minutes and 3 GB of build cache."
	go mod download
	total=$(CGO_ENABLED=0 go list -deps . | wc -l)
	ldflags="-s -w"
	for setting in "gitVersion=$kube" "gitMajor=${major%%.*}" "gitMinor=${minor%%.*}" gitTreeState=clean; do
		ldflags+=" -X k8s.io/component-base/version.$setting"
	done
	rm -rf "$out" "$out.new"
	mkdir "$out.new"
	# -v names each package that is compiled; every hundredth becomes a line of progress.
	progress() {
		local line count=0 start=$SECONDS
		while IFS= read -r line; do
			if [[ ! $line =~ ^[A-Za-z0-9_./-]+$ ]]; then
				say "$line"
			elif ((++count % 100 == 0)); then
				say "$count of at most $total packages compiled, $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s"
			fi
		done
	}
	CGO_ENABLED=0 go build -v -trimpath -buildvcs=false -ldflags "$ldflags" -o "$out.new/controlplane" . 2> >(progress)
	for name in etcd kube-apiserver kube-controller-manager; do
		ln -s controlplane "$out.new/$name"
	done
	mv "$out.new" "$out"
	# Builds of other versions that nobody has used for a month make room.
	find "$cache" -mindepth 1 -maxdepth 1 -type d ! -path "$out" -mtime +30 -exec rm -rf {} +
	say "Done: $out"
fi
echo "$out"
