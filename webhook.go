package penstock

import (
	"strconv"
	"strings"
	"time"
)

// AuthMode is how a sender authenticates its deliveries.
type AuthMode string

// The modes of authentication.
const (
	AuthToken     AuthMode = "token"     // Authorization: Bearer
	AuthURLToken  AuthMode = "url_token" // the last segment of the URL
	AuthSignature AuthMode = "signature" // a signature over the body, by a scheme
)

// SignatureScheme names how a sender signs its deliveries. internal/control/signature has all schemes.
type SignatureScheme string

// Signature describes a custom_hmac scheme, or the timestamp header that a
// Grafana contact point is configured with: the contract's signature object.
type Signature struct {
	Header          string `json:"header,omitempty"`           // holds the signature
	Prefix          string `json:"prefix,omitempty"`           // before each signature, such as sha256=
	Hash            string `json:"hash,omitempty"`             // sha1, sha256, sha512
	Encoding        string `json:"encoding,omitempty"`         // of the signature: hex, base64
	KeyForm         string `json:"key_form,omitempty"`         // of the secret: text, base64, hex, whsec
	Template        string `json:"template,omitempty"`         // of the signed text
	TimestampHeader string `json:"timestamp_header,omitempty"` // holds {timestamp}
}

// Webhook is an authenticated URL that starts automations: the contract's
// Webhook.
type Webhook struct {
	UID              string          `json:"uid"`
	Name             string          `json:"name"`
	Label            string          `json:"label"` // the name as the user typed it
	AuthMode         AuthMode        `json:"auth_mode"`
	SignatureScheme  SignatureScheme `json:"signature_scheme,omitempty"`
	Signature        *Signature      `json:"signature,omitempty"`
	SecretName       string          `json:"secret_name"`
	DeliveryIDHeader string          `json:"delivery_id_header,omitempty"`
	ReplayGuard      bool            `json:"replay_guard"`
	// DedupBodyWindow is how long an equal body is a duplicate if nothing else identifies deliveries.
	// "" is the setting of the server.
	DedupBodyWindow DedupWindow   `json:"dedup_body_window,omitempty"`
	RetryUnmatched  bool          `json:"retry_unmatched"` // an accepted delivery without a run does not hold its identity
	SetupPings      bool          `json:"setup_pings"`     // unsigned setup requests get 200 until a verified delivery
	SecretRefresh   SecretRefresh `json:"secret_refresh"`
	Enabled         bool          `json:"enabled"`
	Suspended       bool          `json:"suspended"` // accepts no deliveries, even if enabled; not in the files
	PendingSecret   bool          `json:"pending_secret"`
	// OutdatedSecret: the managed secret has a value that the webhook does not use yet. Not stored.
	OutdatedSecret bool            `json:"outdated_secret"`
	IngressURL     string          `json:"ingress_url"` // for url_token, with {token} in place of the secret
	Secrets        []WebhookSecret `json:"secrets"`
	Counts         DeliveryCounts  `json:"counts"`
	CreatedAt      Time            `json:"created_at"`
	UpdatedAt      Time            `json:"updated_at"`
	LastDeliveryAt Time            `json:"last_delivery_at,omitzero"`
	// Secret appears only in the response that creates it.
	Secret string `json:"secret,omitempty"`
}

// DedupWindow is a time such as 20h or 90m. 0 turns the comparison of bodies off, and "" stands for
// the setting of the server.
type DedupWindow string

// maxDedupWindow is the longest time of a DedupWindow.
const maxDedupWindow = 366 * 24 * time.Hour

// UnmarshalJSON also reads a number, of seconds.
func (w *DedupWindow) UnmarshalJSON(b []byte) error {
	text := string(b)
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 {
		*w = DedupWindow(text + "s")
		return nil
	}
	text, err := strconv.Unquote(text)
	if err != nil {
		return Invalid("", "must be a time such as 20h, or 0")
	}
	*w = DedupWindow(strings.TrimSpace(text))
	return nil
}

// Valid reports whether w is "", 0, or a time up to [maxDedupWindow].
func (w DedupWindow) Valid() bool {
	d, err := time.ParseDuration(string(w))
	return w == "" || err == nil && d >= 0 && d <= maxDedupWindow
}

// Or returns the time of w, or server for "".
func (w DedupWindow) Or(server time.Duration) time.Duration {
	if w == "" {
		return server
	}
	d, _ := time.ParseDuration(string(w)) // was checked
	return d
}

// SecretRefresh says when a webhook starts to use a new value of its managed secret.
type SecretRefresh string

// The ways to use a new value.
const (
	RefreshApply     SecretRefresh = "apply"     // when the webhook is changed or enabled
	RefreshImmediate SecretRefresh = "immediate" // when the value changes
)

// WebhookSecret is one of the secrets that are valid now, the newest first.
type WebhookSecret struct {
	Index      int  `json:"index"`
	LastUsedAt Time `json:"last_used_at,omitzero"`
	ExpiresAt  Time `json:"expires_at,omitzero"`
}

// DeliveryCounts are the deliveries of the last 24 hours.
type DeliveryCounts struct {
	Accepted    int64 `json:"accepted"`
	Duplicate   int64 `json:"duplicate"`
	Rejected    int64 `json:"rejected"`
	RateLimited int64 `json:"rate_limited"`
	// TurnedAway are requests to a webhook that was disabled or suspended, or waited for its secret.
	// Nothing of them was checked or stored.
	TurnedAway int64 `json:"turned_away"`
}
