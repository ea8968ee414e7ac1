package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
)

// hookSecret is the secret of every measured webhook.
const hookSecret = "bench_0123456789abcdefghijklmnop"

// signatureHeader carries the signature of a delivery, in GitHub's format.
const signatureHeader = "X-Hub-Signature-256"

// bareHook does the minimum that a Go server can do for a delivery: it reads the body, verifies its
// signature, checks that it is JSON, and returns 202 with as many bytes as Penstock does. It stores
// nothing.
type bareHook struct{ response []byte }

func (b *bareHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !signed(r.Header, body) || !json.Valid(body) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h := w.Header()
	h["Content-Type"] = []string{"application/json"}
	h["Content-Length"] = []string{strconv.Itoa(len(b.response))}
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(b.response)
}

func signed(h http.Header, body []byte) bool {
	got := h[signatureHeader]
	return len(got) == 1 && hmac.Equal([]byte(got[0]), signature(body))
}

// signature returns the value of signatureHeader.
func signature(body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	return hex.AppendEncode([]byte("sha256="), mac.Sum(nil))
}
