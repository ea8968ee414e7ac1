// Package field holds what the rules check in the fields of a request: texts, names, enumerations
// and fields that a request may set, clear or omit.
package field
