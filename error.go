package penstock

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Code identifies a kind of error in the contract. Clients switch on it.
type Code string

// The codes of API errors that this server returns; each has its HTTP status in [Code.Status].
const (
	CodeInvalidRequest         Code = "invalid_request"
	CodeAuthenticationRequired Code = "authentication_required"
	CodeNotAuthorized          Code = "not_authorized"
	CodeNotFound               Code = "resource_not_found"
	CodeMethodNotAllowed       Code = "method_not_allowed"
	CodeConflict               Code = "conflict"
	CodePayloadTooLarge        Code = "payload_too_large"
	CodeNotSupported           Code = "operation_not_supported"
	CodeInvalidDefinition      Code = "invalid_definition"
	CodeBudgetExceeded         Code = "budget_exceeded"
	CodeRateLimited            Code = "rate_limited"
	CodeInternal               Code = "internal_error"
	CodeUnavailable            Code = "resource_unavailable"
)

// More codes, which only a run's status message has.
const (
	CodeEnvironmentSetupFailed Code = "environment_setup_failed"
	CodeAgentProcessFailed     Code = "agent_process_failed"
	CodeInfrastructureTimeout  Code = "infrastructure_timeout"
	CodeExternalAuthRequired   Code = "external_authentication_required"
	CodeUnpricedModel          Code = "unpriced_model"
	CodeAgentDidNothing        Code = "agent_did_nothing"
)

var codes = map[Code]struct {
	status int
	title  string
}{
	CodeInvalidRequest:         {http.StatusBadRequest, "Invalid request"},
	CodeAuthenticationRequired: {http.StatusUnauthorized, "Authentication required"},
	CodeNotAuthorized:          {http.StatusForbidden, "Not authorized"},
	"feature_not_available":    {http.StatusForbidden, "Feature not available"},
	CodeNotFound:               {http.StatusNotFound, "Resource not found"},
	CodeMethodNotAllowed:       {http.StatusMethodNotAllowed, "Method not allowed"},
	CodeConflict:               {http.StatusConflict, "Conflict"},
	CodePayloadTooLarge:        {http.StatusRequestEntityTooLarge, "Payload too large"},
	CodeNotSupported:           {http.StatusUnprocessableEntity, "Operation not supported"},
	CodeInvalidDefinition:      {http.StatusUnprocessableEntity, "Invalid definition"},
	"content_policy_violation": {http.StatusForbidden, "Content policy violation"},
	CodeBudgetExceeded:         {http.StatusForbidden, "Budget exceeded"},
	CodeRateLimited:            {http.StatusTooManyRequests, "Rate limited"},
	CodeInternal:               {http.StatusInternalServerError, "Internal error"},
	CodeUnavailable:            {http.StatusServiceUnavailable, "Resource unavailable"},
}

// Status is the HTTP status of an API error with this code, 500 for a code
// that only runs have.
func (c Code) Status() int {
	if d, ok := codes[c]; ok {
		return d.status
	}
	return http.StatusInternalServerError
}

// Title is the code in words, the same for every occurrence (RFC 9457 §3.1.3).
func (c Code) Title() string {
	if d, ok := codes[c]; ok {
		return d.title
	}
	return strings.ReplaceAll(string(c), "_", " ")
}

// Retryable reports whether the same request may succeed later.
func (c Code) Retryable() bool {
	return c == CodeInternal || c == CodeUnavailable || c == CodeRateLimited || c == CodeInfrastructureTimeout
}

// OurFault reports whether a run with this code ends in ERROR instead of FAILED, because the user
// cannot fix the cause.
func (c Code) OurFault() bool {
	switch c {
	case CodeAuthenticationRequired, CodeUnavailable, CodeInfrastructureTimeout, CodeInternal:
		return true
	}
	return false
}

// Error is an error that may be shown to the caller: its Detail never holds a
// secret. Every other error is logged and shown as an internal error.
type Error struct {
	Code        Code
	Detail      string
	Fields      []FieldError  // the invalid fields of an invalid_request
	Diagnostics []Diagnostic  // findings in the files, for invalid_definition
	Retryable   bool          // true makes an error retryable whose code is not
	RetryAfter  time.Duration // 0: unknown
	Cause       error         // for the log only
}

// FieldError says what is wrong with one field of a request body.
type FieldError struct {
	Pointer string `json:"pointer"` // JSON pointer (RFC 6901); "" is the whole body
	Detail  string `json:"detail"`
}

// String returns the error in one line: the pointer, a colon and the detail. The detail reads well
// after the colon, as "must be …", "is required" or a sentence. An error about the whole body has
// only the detail.
func (f FieldError) String() string {
	if f.Pointer == "" {
		return f.Detail
	}
	return f.Pointer + ": " + f.Detail
}

// Diagnostic is a finding in a factory's files. Line and column count from 1.
type Diagnostic struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Path     string `json:"path"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`          // error or warning
	Nearest  string `json:"nearest,omitempty"` // the known name that is most similar
}

func (e *Error) Error() string {
	text := e.Code.Title()
	if d := e.Explain(); d != "" {
		text += ": " + d
	}
	if e.Cause != nil {
		text += " (" + e.Cause.Error() + ")"
	}
	return text
}

// Explain returns the detail for the caller: Detail, or the fields in one line if it is empty.
func (e *Error) Explain() string {
	if e.Detail != "" {
		return e.Detail
	}
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.String()
	}
	return strings.Join(parts, "; ")
}

func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of the first *Error in err's chain, or "".
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

// Errorf makes an error with the given code and detail.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid makes an invalid_request error about one field of the body.
func Invalid(pointer, format string, args ...any) *Error {
	return InvalidFields(FieldError{pointer, fmt.Sprintf(format, args...)})
}

// InvalidFields makes an invalid_request error about several fields.
func InvalidFields(fields ...FieldError) *Error {
	return &Error{Code: CodeInvalidRequest, Fields: fields}
}

// NotFound makes a resource_not_found error. A resource of another team gets the same error as a
// missing one.
func NotFound(kind, id string) *Error {
	return Errorf(CodeNotFound, "there is no %s %q", kind, id)
}

// EscapePointer escapes one segment of a JSON pointer (RFC 6901 §3).
func EscapePointer(segment string) string { return pointerEscapes.Replace(segment) }

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
