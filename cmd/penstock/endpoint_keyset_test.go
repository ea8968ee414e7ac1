package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// pinged sends a ping, and returns the id of its message.
func pinged(t *testing.T, env []string, uid string) string {
	t.Helper()
	sent := callFor[announce.Sent](t, env, "endpoint", "ping", uid)
	return sent.MessageID
}

// The URL and the secrets of an endpoint are encrypted with the keyset. They stay valid when its key is rotated, and
// the old key is removed.
func TestEndpointsOutliveARotationOfTheKey(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		s := serveEvents(t, database)
		env, box := client(s), newPostbox(t)
		e, secret := createEndpoint(t, env, box.URL+"/inb0x?key=t0ken")
		where := []string{"PENSTOCK_DATA=" + s.Data, "PENSTOCK_DATABASE=" + database}
		call(t, where, "secret", "rotate-key", "--settle", "1s").want(t, 0, "removed the old key")
		if n := keysIn(t, filepath.Join(s.Data, "keyset.json")); n != 1 {
			t.Errorf("the keyset has %d keys, want one", n)
		}
		s.Stop() // nothing is in a cache
		s.Restart()
		if err := box.waitFor(t, pinged(t, env, e.UID), 1)[0].verified(t, secret); err != nil {
			t.Errorf("after the rotation: %v", err)
		}
	})
}

// A backup has the endpoints, and the messages that wait. After the restore they are sent, with the same ids and
// secret.
func TestABackupHasEndpointsAndTheirMessages(t *testing.T) {
	t.Parallel()
	s := serveEvents(t, "")
	env := client(s)
	address := "127.0.0.1:" + testkit.FreePort(t) // nobody listens yet
	e, secret := createEndpoint(t, env, "http://"+address+"/inb0x?key=t0ken")
	id := pinged(t, env, e.UID)
	testkit.Eventually(t, timeout, func() error {
		if got := call(t, env, "endpoint", "attempts", e.UID); !strings.Contains(got.out, "did not answer") {
			return fmt.Errorf("the attempts are %q", got.out)
		}
		return nil
	})
	backup := filepath.Join(t.TempDir(), "b.tar")
	call(t, []string{"PENSTOCK_DATA=" + s.Data}, "backup", "--to", backup).want(t, 0, "backed up")
	s.Stop()
	box := newPostboxAt(t, address)
	data := filepath.Join(t.TempDir(), "restored")
	call(t, nil, "restore", "--data", data, "--from", backup).want(t, 0, "restored")
	again := serve(t, nil, "--data", data, "--event-private-network", "127.0.0.0/8")
	env = []string{"PENSTOCK_BASE_URL=" + again.url, "PENSTOCK_API_KEY=" + s.Key}
	if err := box.waitFor(t, id, 1)[0].verified(t, secret); err != nil {
		t.Errorf("the message that waited: %v", err)
	}
	call(t, env, "endpoint", "attempts", e.UID, "--message", id).want(t, 0, "did not answer")
	if err := box.waitFor(t, pinged(t, env, e.UID), 1)[0].verified(t, secret); err != nil {
		t.Errorf("a message after the restore: %v", err)
	}
}
