// Command image builds the konnector's container image without a container engine:
// static binaries for several platforms, each in one layer on an empty base, with
// CA certificates, in an archive that "docker load", "ctr images import" and
// "kind load image-archive" take. The same commit gives the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// certificates are the usual places of the CA bundle on a build machine.
var certificates = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/cert.pem",
}

func main() {
	platforms := flag.String("platforms", "linux/amd64,linux/arm64", "platforms, separated by commas")
	name := flag.String("name", "localhost/konnector", "name of the image")
	tag := flag.String("tag", "", "tag of the image; by default that of the commit, unique for uncommitted changes")
	output := flag.String("output", "bin/konnector-image.tar", "archive that is written")
	bundle := flag.String("ca-certificates", "", "bundle of CA certificates; by default that of this machine")
	flag.Parse()
	if err := run(strings.Split(*platforms, ","), *name, *tag, *output, *bundle); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(platforms []string, name, tag, output, bundle string) error {
	source, err := describe()
	if err != nil {
		return err
	}
	if tag == "" {
		tag = source.version
	}
	authorities, err := readCertificates(bundle)
	if err != nil {
		return err
	}
	image := newImage(name+":"+tag, source)
	for _, platform := range platforms {
		system, architecture, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("--platforms: %q is not of the form linux/amd64", platform)
		}
		binary, err := build(system, architecture)
		if err != nil {
			return err
		}
		digest, err := image.add(system, architecture, []file{
			{"etc/ssl/certs/ca-certificates.crt", 0o644, authorities},
			{"konnector", 0o755, binary},
		})
		if err != nil {
			return err
		}
		fmt.Printf("%-14s %s %5.1f MB\n", platform, digest, float64(len(binary))/1e6)
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o755); err != nil {
		return err
	}
	if err := image.write(output); err != nil {
		return err
	}
	fmt.Printf("%s in %s\n", image.reference, output)
	return nil
}

// source is what is built.
type source struct {
	version  string
	revision string
	created  time.Time
}

// describe asks git for the commit. A tree with changes that are not committed gets a
// version of its own, so that a cluster never takes one build for another.
func describe() (source, error) {
	version, err := git("describe", "--tags", "--always", "--abbrev=12")
	if err != nil {
		return source{}, err
	}
	revision, err := git("rev-parse", "HEAD")
	if err != nil {
		return source{}, err
	}
	seconds, err := git("show", "-s", "--format=%ct", "HEAD")
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds = epoch
	}
	if err != nil {
		return source{}, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("time of the commit: %w", err)
	}
	changes, err := git("status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if changes != "" {
		content, err := git("diff", "HEAD", "--binary")
		if err != nil {
			return source{}, err
		}
		version += "-" + digestOf([]byte(changes + content))[len("sha256:"):][:8]
	}
	return source{version: version, revision: revision, created: time.Unix(unix, 0).UTC()}, nil
}

func git(arguments ...string) (string, error) {
	output, err := exec.Command("git", arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", arguments[0], err)
	}
	return strings.TrimSpace(string(output)), nil
}

// build compiles the konnector for a platform and returns the binary.
func build(system, architecture string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "konnector-image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary := filepath.Join(dir, "konnector")
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", binary, "./cmd/konnector")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+architecture)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("building for %s/%s: %w", system, architecture, err)
	}
	return os.ReadFile(binary)
}

func readCertificates(bundle string) ([]byte, error) {
	if bundle != "" {
		return os.ReadFile(bundle)
	}
	for _, place := range certificates {
		if content, err := os.ReadFile(place); err == nil {
			return content, nil
		}
	}
	return nil, fmt.Errorf("this machine has no CA certificates in %s: name a bundle with --ca-certificates", strings.Join(certificates, ", "))
}
