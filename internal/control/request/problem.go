package request

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
)

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is the body of every error response.
type Problem struct {
	Type      string                `json:"type"`   // {origin}/docs/errors/{code}
	Title     string                `json:"title"`  // the code in words
	Status    int                   `json:"status"` // the HTTP status
	Error     string                `json:"error"`  // title and detail in one line
	Detail    string                `json:"detail,omitempty"`
	Instance  string                `json:"instance,omitempty"` // the route
	Retryable bool                  `json:"retryable"`
	TraceID   string                `json:"trace_id,omitempty"`
	Errors    []penstock.FieldError `json:"errors,omitempty"`
	// Diagnostics are the findings in a factory's files.
	Diagnostics []penstock.Diagnostic `json:"diagnostics,omitempty"`
}

// ProblemOf returns the response body for e from a server at origin.
func ProblemOf(origin string, e *penstock.Error) Problem {
	d := Problem{
		Type: origin + "/docs/errors/" + string(e.Code), Title: e.Code.Title(), Status: e.Code.Status(), Detail: e.Explain(),
		Retryable: e.Retryable || e.Code.Retryable(), Errors: e.Fields, Diagnostics: e.Diagnostics,
	}
	d.Error = d.Title
	if d.Detail != "" {
		d.Error += ": " + strings.Join(strings.Fields(d.Detail), " ")
	}
	return d
}

// JSON returns the body. If the details are not UTF-8, it has only the title.
func (d Problem) JSON() []byte {
	body, err := json.Marshal(d)
	if err != nil {
		body, _ = json.Marshal(
			Problem{Type: d.Type, Title: d.Title, Status: d.Status, Error: d.Title, Retryable: d.Retryable},
		)
	}
	return body
}

// LogPanic logs what a handler's recover returned, with its stack, and reports whether there was a
// panic. It repeats a panic with [http.ErrAbortHandler], with which a handler aborts a response.
func LogPanic(ctx context.Context, log *slog.Logger, recovered any, attrs ...any) bool {
	if recovered == nil {
		return false
	}
	if err, ok := recovered.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(recovered)
	}
	log.ErrorContext(
		ctx, "handler panicked", append(attrs, "panic", fmt.Sprint(recovered), "stack", string(debug.Stack()))...,
	)
	return true
}
