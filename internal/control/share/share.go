// Package share holds what many callers share: reads of the store, values that they used recently,
// last-use times that are written together, tables that are cleared a few rows at a time, and
// limits that are counted within a minute, by one server or by several.
package share
