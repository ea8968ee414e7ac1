package penstock

// SessionRequest begins a session of the dashboard.
type SessionRequest struct {
	APIKey string `json:"api_key"`
}

// Session is a browser that has signed in with an API key.
type Session struct {
	Team   string  `json:"team"`
	Actor  Actor   `json:"actor"`
	Scopes []Scope `json:"scopes"` // of the key, as they are now
	KeyUID string  `json:"key_uid"`
	// Secret must come with every request beside the cookie. It is in the answer
	// that begins the session and never again.
	Secret      string `json:"secret,omitempty"`
	ExpiresAt   Time   `json:"expires_at"`   // however much it is used
	IdleSeconds int64  `json:"idle_seconds"` // after which it ends
}
