package penstock

// SignatureScheme names a sender's way to sign its deliveries.
type SignatureScheme string

// Signature describes a custom_hmac scheme, or the timestamp header that a
// Grafana contact point is configured with.
type Signature struct {
	Header          string `json:"header,omitempty"`
	Prefix          string `json:"prefix,omitempty"`
	Hash            string `json:"hash,omitempty"`
	Encoding        string `json:"encoding,omitempty"`
	KeyForm         string `json:"key_form,omitempty"`
	Template        string `json:"template,omitempty"`
	TimestampHeader string `json:"timestamp_header,omitempty"`
}
