// Package batch combines the work of many callers: reads of the store that callers share,
// last-use times that are written together, and tables that are cleared a few rows at a time.
package batch
