package worker

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// receivedFile lists the ids that the run received from its providers, beside its workspace. It is
// for agents without a session; sessions include the ids.
const receivedFile = "received.json"

// received returns the ids that the run has received from its providers, in JSON, or nil.
func (o *outlet) received() []byte {
	ids := o.models.Received()
	if len(ids) == 0 {
		return nil
	}
	data, err := json.Marshal(ids)
	if err != nil {
		panic("worker: ids cannot be marshaled: " + err.Error())
	}
	return data
}

// restoreReceived allows the run to refer to ids that its earlier executions received.
func (o *outlet) restoreReceived(data []byte) {
	if data == nil {
		return
	}
	var ids []string
	if err := json.Unmarshal(data, &ids); err != nil {
		o.task.log.Warn("cannot read the ids that the run received from its providers", "error", err)
	}
	o.models.Restore(ids)
}

// findReceived restores the ids that earlier executions stored on this worker.
func (o *outlet) findReceived() {
	data, err := os.ReadFile(filepath.Join(o.kept, receivedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.task.log.Warn("cannot read the ids that the run received from its providers", "error", err)
	}
	o.restoreReceived(data)
}

// keepReceived stores the ids for the next execution on this worker.
func (o *outlet) keepReceived() {
	data := o.received()
	if data == nil {
		return
	}
	if err := os.WriteFile(filepath.Join(o.kept, receivedFile), data, 0o600); err != nil {
		o.task.log.Warn("cannot keep the ids that the run received from its providers", "error", err)
	}
}
