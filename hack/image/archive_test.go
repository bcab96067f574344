package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var commit = source{version: "v1", revision: "abc", created: time.Unix(1700000000, 0).UTC()}

// unpack returns the files of a tar by name, and fails on anything that is not
// owned by root or not of the commit's time.
func unpack(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	archive := tar.NewReader(bytes.NewReader(content))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || !header.ModTime.Equal(commit.created) {
			t.Errorf("%s: owner %d:%d, time %s", header.Name, header.Uid, header.Gid, header.ModTime)
		}
		if header.Typeflag == tar.TypeReg {
			if files[header.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// parse returns a JSON blob of an archive, whose digest and size have to be right.
func parse[T any](t *testing.T, files map[string][]byte, of descriptor) T {
	t.Helper()
	content := files[blobPath(of.Digest)]
	if digestOf(content) != of.Digest || len(content) != of.Size {
		t.Fatalf("%s: digest %s and size %d, want %s and %d", of.MediaType, digestOf(content), len(content), of.Digest, of.Size)
	}
	var value T
	if err := json.Unmarshal(content, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestArchiveHoldsWhatItSays(t *testing.T) {
	made := newImage("localhost/konnector:v1", commit)
	contents := []file{{"etc/ssl/certs/ca-certificates.crt", 0o644, []byte("certificates")}, {"konnector", 0o755, []byte("binary")}}
	for _, architecture := range []string{"amd64", "arm64"} {
		if _, err := made.add("linux", architecture, contents); err != nil {
			t.Fatal(err)
		}
	}
	output := filepath.Join(t.TempDir(), "image.tar")
	if err := made.write(output); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, archive)

	type index struct{ Manifests []descriptor }
	var top index
	if err := json.Unmarshal(files["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	if got := top.Manifests[0].Annotations["io.containerd.image.name"]; got != "localhost/konnector:v1" {
		t.Errorf("the image's name is %q", got)
	}
	platforms := parse[index](t, files, top.Manifests[0])
	if len(platforms.Manifests) != 2 || platforms.Manifests[1].Platform.Architecture != "arm64" {
		t.Fatalf("platforms: %+v", platforms)
	}
	for _, each := range platforms.Manifests {
		manifest := parse[struct {
			Config descriptor
			Layers []descriptor
		}](t, files, each)
		config := parse[struct {
			Config struct {
				Entrypoint []string
				User       string
			}
			Rootfs struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}](t, files, manifest.Config)
		if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/konnector" {
			t.Errorf("config: %+v", config)
		}
		packed, err := gzip.NewReader(bytes.NewReader(files[blobPath(manifest.Layers[0].Digest)]))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(packed)
		if err != nil {
			t.Fatal(err)
		}
		if digestOf(plain) != config.Rootfs.DiffIDs[0] {
			t.Error("diff_id is not that of the layer")
		}
		want := map[string][]byte{"konnector": []byte("binary"), "etc/ssl/certs/ca-certificates.crt": []byte("certificates")}
		if diff := cmp.Diff(want, unpack(t, plain)); diff != "" {
			t.Errorf("layer (-want +got):\n%s", diff)
		}
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	var archives [2][]byte
	for n := range archives {
		made := newImage("localhost/konnector:v1", commit)
		for _, architecture := range []string{"amd64", "arm64"} {
			if _, err := made.add("linux", architecture, []file{{"konnector", 0o755, []byte("binary of " + architecture)}}); err != nil {
				t.Fatal(err)
			}
		}
		output := filepath.Join(t.TempDir(), "image.tar")
		if err := made.write(output); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(output)
		if err != nil {
			t.Fatal(err)
		}
		archives[n] = content
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("two builds differ")
	}
}
