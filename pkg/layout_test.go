package pkg_test

import (
	"errors"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are the packages in the order of an object's way through them. A package
// imports those above it, never those below.
var rooms = []string{
	"controller",
	"status",
	"access",
	"kubeconfig",
	"instance",
	"informer",
	"session",
	"export",
	"schema",
	"connection",
	"coverage",
	"binding",
	"ownership",
	"syncer",
	"related",
	"konnector",
}

func TestPackagesImportThoseAboveThem(t *testing.T) {
	const prefix = "github.com/kbind-dev/konnector/pkg/"
	room := func(path string) int {
		name, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		return slices.Index(rooms, name)
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || dir == "." {
			return err
		}
		if dir == "internal" || entry.Name() == "testdata" {
			return fs.SkipDir
		}
		pkg, err := build.ImportDir(dir, 0)
		if _, empty := errors.AsType[*build.NoGoError](err); empty {
			return nil
		}
		if err != nil {
			return err
		}
		if room(dir) < 0 {
			t.Errorf("pkg/%s has no place yet: add it to rooms, below all that it imports", dir)
			return nil
		}
		for _, path := range pkg.Imports {
			imported, ours := strings.CutPrefix(path, prefix)
			if ours && !strings.HasPrefix(imported, "internal/") && room(imported) > room(dir) {
				t.Errorf("pkg/%s imports pkg/%s, which is below it", dir, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
