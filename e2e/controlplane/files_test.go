package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSweepRemovesAbandonedFoldersOnly(t *testing.T) {
	short, err := os.MkdirTemp("", "") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	t.Setenv("TMPDIR", short)
	age := func(dir string) string {
		t.Helper()
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(filepath.Join(dir, lockName), old, old); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	add := func(name string, release bool) string {
		t.Helper()
		dir, unlock, err := newFolder(name)
		if err != nil {
			t.Fatal(err)
		}
		if release {
			unlock()
		} else {
			t.Cleanup(unlock)
		}
		return string(dir)
	}
	inUse := age(add("in-use", false))
	young := add("young", true)
	kept := add("kept", true)
	if err := os.Remove(filepath.Join(kept, lockName)); err != nil {
		t.Fatal(err)
	}
	abandoned := age(add("abandoned", true))
	if unlock, err := lockFile(filepath.Join(abandoned, lockName)); err != nil {
		t.Skipf("locks do not work here: %v", err)
	} else {
		unlock()
	}

	sweep()

	for dir, want := range map[string]bool{inUse: true, young: true, kept: true, abandoned: false} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %t", dir, err, want)
		}
	}
}

func TestNewFolderRefusesPathsTooLongForSockets(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", maxSocketPath))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	if _, _, err := newFolder("a"); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("error = %v, want one that names the remedy", err)
	}
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	content := strings.Repeat("old\n", tailBytes) + "one\ncontroller is disabled\ntwo"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := tail(file, 3); string(got) != "old\none\ntwo\n" || err != nil {
		t.Errorf("tail = %q, %v", got, err)
	}
}
