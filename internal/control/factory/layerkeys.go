package factory

import "github.com/penstock-dev/penstock"

// LayerKeysRequest changes [penstock.LayerKeys]. An absent key stays unchanged.
type LayerKeysRequest struct {
	WorkerHost         *string `json:"worker_host,omitempty"`
	CredentialStrategy *string `json:"credential_strategy,omitempty"`

	Forge *penstock.ForgeSettings `json:"forge,omitempty"` // all of them; an empty one removes them
}
