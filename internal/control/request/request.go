// Package request checks what the fields of a request hold (texts, names, enumerations, and fields
// that a request may set, clear or omit), and writes errors as HTTP responses (RFC 9457).
package request
