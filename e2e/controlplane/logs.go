package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// tailBytes bounds what of a log is read for its last lines.
const tailBytes = 256 << 10

// Logs returns the last n lines of what each component wrote, under headings.
// It is empty for an existing cluster.
func (cp *ControlPlane) Logs(n int) string {
	if cp.Existing() {
		return ""
	}
	var out strings.Builder
	for _, name := range []string{etcdName, apiServerName, controllerManagerName} {
		lines, err := tail(cp.dir.log(name), n)
		if os.IsNotExist(err) {
			continue // never started
		}
		fmt.Fprintf(&out, "--- %s %s, last %d lines\n", cp.options.Name, name, n)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
		out.Write(lines)
	}
	return out.String()
}

// isNoise finds the forty lines in which kube-controller-manager lists what it does not do.
func isNoise(line []byte) bool { return bytes.Contains(line, []byte("controller is disabled")) }

// tail returns the last n lines of a file that are no noise, each ended by a newline.
func tail(file string, n int) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	content, err := io.ReadAll(f)
	if err != nil || len(content) == 0 {
		return nil, err
	}
	lines := bytes.SplitAfter(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
	lines = slices.DeleteFunc(lines, isNoise)
	return append(bytes.Join(lines[max(0, len(lines)-n):], nil), '\n'), nil
}
