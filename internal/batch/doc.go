// Package batch lets many callers share the work of one: reads of the store that are
// made once for all who ask, marks that are written together, and tables that are
// cleared a few rows at a time.
package batch
