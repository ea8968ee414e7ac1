// Package batch combines the work of many callers: reads of the store that callers share,
// values that they used recently, last-use times that are written together, and tables that are
// cleared a few rows at a time.
package batch
