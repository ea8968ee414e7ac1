package penstock

// SessionRequest starts a session of the dashboard.
type SessionRequest struct {
	APIKey string `json:"api_key"`
}

// Session is the session of a browser that signed in with an API key.
type Session struct {
	Team   string  `json:"team"`
	Actor  Actor   `json:"actor"`
	Scopes []Scope `json:"scopes"` // the current scopes of the key
	KeyUID string  `json:"key_uid"`
	// Secret must accompany the cookie in every request. Only the response that starts the
	// session has it.
	Secret      string `json:"secret,omitempty"`
	ExpiresAt   Time   `json:"expires_at"`   // even if it is used
	IdleSeconds int64  `json:"idle_seconds"` // idle time after which it ends
}
