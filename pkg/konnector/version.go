package konnector

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by builds outside of a git checkout: -ldflags "-X …/konnector.version=v1".
var version string

// Version returns the version of this build: the one that was set when it was
// linked, or else that of the module or commit in the build info.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	revision, modified := "unknown", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value[:min(12, len(setting.Value))]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = "-modified"
		}
	}
	return "devel-" + revision + modified
}

// userAgent names the konnector to API servers.
func userAgent() string {
	return fmt.Sprintf("konnector/%s (%s/%s)", Version(), runtime.GOOS, runtime.GOARCH)
}
