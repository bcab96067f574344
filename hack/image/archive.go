package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Media types of the OCI image specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// file is one file of a layer.
type file struct {
	name    string
	mode    int64
	content []byte
}

// image collects what goes into the archive.
type image struct {
	reference string
	source    source
	blobs     map[string][]byte // by digest
	manifests []descriptor
	docker    []dockerImage // what "docker load" reads
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func newImage(reference string, of source) *image {
	return &image{reference: reference, source: of, blobs: map[string][]byte{}}
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// blob keeps content and returns what describes it.
func (i *image) blob(mediaType string, content []byte) descriptor {
	digest := digestOf(content)
	i.blobs[digest] = content
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(content)}
}

// document keeps a value as JSON and returns what describes it.
func (i *image) document(mediaType string, value any) (descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return i.blob(mediaType, content), nil
}

// add puts the image of one platform into the archive, and returns its digest.
func (i *image) add(system, architecture string, files []file) (string, error) {
	plain, err := layer(files, i.source.created)
	if err != nil {
		return "", err
	}
	packed, err := compress(plain)
	if err != nil {
		return "", err
	}
	layerBlob := i.blob(typeLayer, packed)
	config, err := i.document(typeConfig, map[string]any{
		"created":      i.source.created.Format(time.RFC3339),
		"architecture": architecture,
		"os":           system,
		"config": map[string]any{
			"Entrypoint": []string{"/konnector"},
			"User":       "65532:65532",
			"WorkingDir": "/",
			"Labels": map[string]string{
				"org.opencontainers.image.title":       "konnector",
				"org.opencontainers.image.description": "Lets a Kubernetes cluster use the APIs of another",
				"org.opencontainers.image.licenses":    "Apache-2.0",
				"org.opencontainers.image.version":     i.source.version,
				"org.opencontainers.image.revision":    i.source.revision,
				"org.opencontainers.image.created":     i.source.created.Format(time.RFC3339),
			},
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digestOf(plain)}},
	})
	if err != nil {
		return "", err
	}
	manifest, err := i.document(typeManifest, map[string]any{
		"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": []descriptor{layerBlob},
	})
	if err != nil {
		return "", err
	}
	manifest.Platform = &platform{Architecture: architecture, OS: system}
	i.manifests = append(i.manifests, manifest)
	if architecture == runtime.GOARCH || len(i.docker) == 0 {
		i.docker = []dockerImage{{Config: blobPath(config.Digest), RepoTags: []string{i.reference}, Layers: []string{blobPath(layerBlob.Digest)}}}
	}
	return manifest.Digest, nil
}

func blobPath(digest string) string {
	return "blobs/" + strings.Replace(digest, ":", "/", 1)
}

// layer returns a tar of the files with the folders that they lie in, all owned by root.
func layer(files []file, when time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	folders := map[string]bool{".": true}
	for _, each := range files {
		for _, folder := range parents(each.name) {
			if folders[folder] {
				continue
			}
			folders[folder] = true
			header := &tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: when, Format: tar.FormatPAX}
			if err := archive.WriteHeader(header); err != nil {
				return nil, err
			}
		}
		if err := writeFile(archive, each, when); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return buffer.Bytes(), err
}

// parents returns the folders above a file, outermost first.
func parents(name string) []string {
	var folders []string
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		folders = append(folders, folder)
	}
	slices.Reverse(folders)
	return folders
}

func writeFile(archive *tar.Writer, each file, when time.Time) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: each.name, Mode: each.mode, Size: int64(len(each.content)), ModTime: when, Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(each.content)
	return err
}

// compress returns gzip without a name or time in it.
func compress(content []byte) ([]byte, error) {
	var buffer bytes.Buffer
	packer := gzip.NewWriter(&buffer)
	_, err := packer.Write(content)
	err = errors.Join(err, packer.Close())
	return buffer.Bytes(), err
}

// write writes the archive: an OCI image layout, and beside it what "docker load" reads.
func (i *image) write(output string) error {
	platforms, err := i.document(typeIndex, map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": i.manifests})
	if err != nil {
		return err
	}
	_, tag, _ := strings.Cut(path.Base(i.reference), ":")
	platforms.Annotations = map[string]string{
		"io.containerd.image.name":          i.reference,
		"org.opencontainers.image.ref.name": tag,
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{platforms}})
	if err != nil {
		return err
	}
	docker, err := json.Marshal(i.docker)
	if err != nil {
		return err
	}
	files := []file{{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {"index.json", 0o644, index}, {"manifest.json", 0o644, docker}}
	for digest, content := range i.blobs {
		files = append(files, file{blobPath(digest), 0o644, content})
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	archive, err := layer(files, i.source.created)
	if err != nil {
		return err
	}
	return writeWhole(output, archive)
}

// writeWhole writes a file so that a reader never sees half of it.
func writeWhole(output string, content []byte) error {
	partial, err := os.CreateTemp(path.Dir(output), ".image-")
	if err != nil {
		return err
	}
	_, copyErr := io.Copy(partial, bytes.NewReader(content))
	if err := errors.Join(copyErr, partial.Chmod(0o644), partial.Close()); err != nil {
		_ = os.Remove(partial.Name())
		return err
	}
	return os.Rename(partial.Name(), output)
}
