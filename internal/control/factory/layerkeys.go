package factory

// LayerKeysRequest changes [penstock.LayerKeys]. An absent key stays unchanged.
type LayerKeysRequest struct {
	WorkerHost         *string `json:"worker_host,omitempty"`
	CredentialStrategy *string `json:"credential_strategy,omitempty"`
}
