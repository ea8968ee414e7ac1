package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Refusal is a request that the gateway did not forward.
type Refusal struct {
	Provider string // "" if the path names none
	// Operation is what the request asks for, "" if its path is not forwarded.
	Operation Operation
	Host      string // of a source by URL that is not allowed; else ""
	Port      int    // goes with Host
	Model     string // if it was known
	Tools     bool   // the request offers tools
	Field     string // of the body, as a JSON pointer; "" if the refusal is not about one
	Reason    string // a sentence for people
	Status    int    // that the agent got
	// Spend is set if the call has no room in a budget, or could not be counted.
	Spend *penstock.SpendRefusal
}

// refuse makes a refusal of a request that is not allowed.
func refuse(field, reason string) *Refusal {
	return &Refusal{Field: field, Reason: reason, Status: http.StatusForbidden}
}

// invalid makes a refusal of a request that is malformed.
func invalid(field, reason string) *Refusal {
	return &Refusal{Field: field, Reason: reason, Status: http.StatusBadRequest}
}

// errorNames are the words of each API for a status.
var errorNames = map[API]map[int]string{
	Anthropic: {
		http.StatusBadRequest:            "invalid_request_error",
		http.StatusForbidden:             "permission_error",
		http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusBadGateway:            "api_error",
	},
	OpenAI: {
		http.StatusBadRequest:            "invalid_request_error",
		http.StatusForbidden:             "permission_error",
		http.StatusRequestEntityTooLarge: "invalid_request_error",
		http.StatusBadGateway:            "server_error",
	},
	Gemini: {
		http.StatusBadRequest:            "INVALID_ARGUMENT",
		http.StatusForbidden:             "PERMISSION_DENIED",
		http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
		http.StatusBadGateway:            "UNAVAILABLE",
	},
}

// writeError responds in the format of api. The SDKs retry a 502 by themselves; the header
// x-should-retry keeps OpenAI's and Anthropic's from repeating a request that was refused.
func writeError(w http.ResponseWriter, api API, status int, message, field string) {
	kind := errorNames[api][status]
	var body any
	switch api {
	case Anthropic:
		body = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}}
	case Gemini:
		body = map[string]any{"error": map[string]any{"code": status, "message": message, "status": kind}}
	default:
		var param any
		if field != "" {
			param = field
		}
		body = map[string]any{
			"error": map[string]any{"message": message, "type": kind, "param": param, "code": "penstock_gateway"},
		}
	}
	data, err := json.Marshal(body)
	if err != nil {
		w.WriteHeader(status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	if status < http.StatusInternalServerError {
		h.Set("X-Should-Retry", "false")
	}
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// maxProblem limits a provider's message, in bytes.
const maxProblem = 500

// problemOf returns the message in the body of a provider's error. All APIs have it in error.message,
// and Gemini's may be in a list. Some compatible servers have a text as error, or only a message.
func problemOf(body []byte) string {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var text string
	if json.Unmarshal(outer.Error, &inner) != nil {
		_ = json.Unmarshal(outer.Error, &text) // it has another form
	}
	text = strings.Join(strings.Fields(cmp.Or(inner.Message, text, outer.Message)), " ")
	if len(text) > maxProblem {
		text = strings.ToValidUTF8(text[:maxProblem], "") + "…"
	}
	return text
}
