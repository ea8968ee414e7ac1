// Package field holds what the rules check in the fields of a request: texts, names,
// enumerations and fields that may be given, cleared or left alone.
package field
