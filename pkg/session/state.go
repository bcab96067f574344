package session

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kbind-dev/konnector/pkg/access"
)

// State is what a session knows of its provider.
type State struct {
	// Answered says that the first attempt to connect has ended, well or not.
	Answered bool
	// UID is that of the provider cluster, "" until it is known.
	UID types.UID
	// Err is why the provider can't be used, nil when it answers.
	Err error
	// Heartbeat is the outcome of the last renewal of the Lease.
	Heartbeat Beat

	failures int // heartbeats in a row that got no answer
}

// Beat is the outcome of one renewal of the Lease.
type Beat struct {
	// Tried says that there was one.
	Tried bool
	// Err is why it failed.
	Err error
	// Duplicate is the instance of another process that renews the same Lease.
	Duplicate string
}

// tolerated is the number of heartbeats that may fail in a row before the
// provider counts as unreachable: one lost answer says little.
const tolerated = 1

// beat takes in the outcome of a heartbeat. One that is refused has been answered:
// it says nothing against the provider.
func (s *State) beat(beat Beat) {
	switch access.Classify(beat.Err) {
	case access.Unreachable, access.Unauthorized:
		s.failures++
		if s.failures > tolerated {
			s.Err = beat.Err
			s.Heartbeat = beat
		}
	default:
		s.failures, s.Err, s.Heartbeat = 0, nil, beat
	}
}

// says reports whether two states tell the same to a user.
func (s State) says(other State) bool {
	return s.Answered == other.Answered && s.UID == other.UID &&
		sameText(s.Err, other.Err) &&
		s.Heartbeat.Tried == other.Heartbeat.Tried &&
		s.Heartbeat.Duplicate == other.Heartbeat.Duplicate &&
		sameText(s.Heartbeat.Err, other.Heartbeat.Err)
}

func sameText(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}
