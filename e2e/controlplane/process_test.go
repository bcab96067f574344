package controlplane

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func sh(t *testing.T, script string, onDeath func(error)) (p *process, log string) {
	t.Helper()
	log = filepath.Join(t.TempDir(), "log")
	p, err := spawn("script", "/bin/sh", []string{"-c", script}, log, onDeath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p, log
}

func TestProcessThatEndsByItselfIsReported(t *testing.T) {
	died := make(chan error, 1)
	_, log := sh(t, "echo hello; exit 3", func(err error) { died <- err })
	err := <-died
	if err == nil || !strings.Contains(err.Error(), "script ended by itself: exit status 3") {
		t.Errorf("reported: %v", err)
	}
	if said, _ := os.ReadFile(log); string(said) != "hello\n" {
		t.Errorf("log = %q", said)
	}
}

func TestProcessThatIsStoppedIsNotReported(t *testing.T) {
	for name, script := range map[string]string{
		"obedient":  "echo up; exec sleep 60",
		"obstinate": "trap '' TERM; echo up; while :; do sleep 0.1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, log := sh(t, script, func(err error) { t.Errorf("reported: %v", err) })
			for {
				if said, _ := os.ReadFile(log); len(said) > 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			began := time.Now()
			p.stop()
			if took := time.Since(began); took > stopLimit+2*time.Second {
				t.Errorf("stopping took %s", took)
			}
			p.stop() // does nothing
		})
	}
}

func TestProcessThatCannotStart(t *testing.T) {
	_, err := spawn("nothing", "/does/not/exist", nil, filepath.Join(t.TempDir(), "log"), func(error) {})
	if err == nil || !strings.Contains(err.Error(), "starting nothing") {
		t.Errorf("error = %v", err)
	}
}

func TestHeldPortRefusesConnectionsAndOtherListeners(t *testing.T) {
	port, release, err := holdPort()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	if connection, err := net.DialTCP("tcp", nil, address); err == nil {
		connection.Close()
		t.Error("something accepts connections on the port")
	}
	if listener, err := net.ListenTCP("tcp", address); err == nil {
		listener.Close()
		t.Skip("ports cannot be held on this system")
	}
}
