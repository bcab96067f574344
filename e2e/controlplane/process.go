package controlplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// stopLimit is how long a process may take to end before it is killed.
const stopLimit = 3 * time.Second

// process is a child of this program. It has ended once done is closed.
type process struct {
	name     string
	cmd      *exec.Cmd
	done     chan struct{}
	stopping atomic.Bool // its end was asked for
}

// spawn starts program, which writes everything it says to the end of logFile.
// When it ends without being asked to, onDeath is called.
func spawn(name, program string, args []string, logFile string, onDeath func(error)) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{name: name, cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	dieWithParent(p.cmd)

	started := make(chan error)
	go p.own(started, onDeath)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

// own starts the process and lives as long as it. The kernel ties the signal
// that dieWithParent asks for to the thread that forked, not to the program;
// hence that thread is kept.
func (p *process) own(started chan<- error, onDeath func(error)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	err = p.cmd.Wait()
	close(p.done)
	if !p.stopping.Load() {
		if err == nil {
			err = errors.New("exit status 0")
		}
		onDeath(fmt.Errorf("%s ended by itself: %w", p.name, err))
	}
}

// stop asks the process to end and kills it when it does not do so in time.
// It returns when the process is gone.
func (p *process) stop() {
	p.stopping.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		p.kill()
	}
}

// kill ends the process at once and returns when it is gone.
func (p *process) kill() {
	p.stopping.Store(true)
	_ = p.cmd.Process.Kill()
	<-p.done
}
