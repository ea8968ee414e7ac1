// Package api holds the contract of /api/v1 as an OpenAPI document, the explanation of each error
// code, and the pages that show both to people: [Docs].
//
// The document is the source. Tests compare the server's routes and responses, the SDKs and the
// reference page with it.
package api

import _ "embed"

//go:generate ../scripts/generate-python

// OpenAPI is the contract, an OpenAPI 3.1 document in YAML. Do not modify it.
//
//go:embed openapi.yaml
var OpenAPI []byte
