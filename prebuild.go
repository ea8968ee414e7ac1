package penstock

import "context"

// PreparedWorkspace is a workspace that a worker keeps for later runs of an environment, or the reason
// why it keeps none.
type PreparedWorkspace struct {
	UID    string        `json:"uid"` // of the layer; two workers with copies of one disk report the same
	State  PreparedState `json:"state"`
	Reason string        `json:"reason,omitempty"` // why it has failed or was retired
	Mode   PrebuildMode  `json:"mode,omitempty"`
	// Heads are the commits of its repositories, in the order of the environment.
	Heads       []PreparedHead `json:"heads"`
	ImageDigest string         `json:"image_digest,omitempty"` // "": the programs of the worker's machine
	WorkerHost  string         `json:"worker_host"`
	Bytes       int64          `json:"bytes"`
	Files       int64          `json:"files"`
	DurationMS  int64          `json:"duration_ms"` // of its preparation
	BuiltAt     Time           `json:"built_at"`    // of a failure: its time
	LastUsedAt  Time           `json:"last_used_at,omitzero"`
	Uses        int64          `json:"uses"`
}

// PreparedState says whether runs can get a prepared workspace.
type PreparedState string

// The states of prepared workspaces.
const (
	PreparedReady   PreparedState = "ready"
	PreparedFailed  PreparedState = "failed"  // a preparation that left none
	PreparedRetired PreparedState = "retired" // no new run gets it
)

// PreparedHead is the commit of a repository in a prepared workspace.
type PreparedHead struct {
	URL    string `json:"url"` // without credentials; "": unknown
	Commit string `json:"commit"`
}

// layers are the prepared workspaces of workers.
type layers interface {
	// ReportLayers replaces what is known of the layers in one folder of a worker. It returns the
	// layers that no run may use any more, and that the worker therefore removes. Layers of unknown
	// environments, and those beyond MaxReportedLayers, are ignored.
	ReportLayers(ctx context.Context, r LayerReport) (retired []string, err error)
}

// MaxReportedLayers is how many layers of one worker, and of all workers for one environment, are known.
const MaxReportedLayers = 1000

// LayerReport has all layers in one folder of a worker.
type LayerReport struct {
	Folder string          `json:"folder"` // identifies the folder, also after a restart
	Host   string          `json:"worker_host"`
	Layers []ReportedLayer `json:"layers"`
}

// ReportedLayer is a layer as its worker reports it.
type ReportedLayer struct {
	PreparedWorkspace

	EnvironmentUID string `json:"environment_uid"`
	// Parents are the layers that it was made from, the oldest one first.
	Parents []string `json:"parents,omitempty"`
}
