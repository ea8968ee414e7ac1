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
	// CSRFToken must come with every write: another site can neither read nor
	// guess it.
	CSRFToken   string `json:"csrf_token"`
	ExpiresAt   Time   `json:"expires_at"`   // however much it is used
	IdleSeconds int64  `json:"idle_seconds"` // after which it ends
}
