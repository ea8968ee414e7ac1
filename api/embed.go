// Package api holds the contract of /api/v1 as an OpenAPI document, what every
// error code means, and the pages that show both to people: [Docs].
//
// The document is the source: the server's routes and responses, the SDKs and
// the reference page are held to it by tests.
package api

import _ "embed"

//go:generate ../scripts/generate-python

// OpenAPI is the contract, an OpenAPI 3.1 document in YAML. It is not to be
// written to.
//
//go:embed openapi.yaml
var OpenAPI []byte
