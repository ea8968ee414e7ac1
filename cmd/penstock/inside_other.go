//go:build !linux || (!amd64 && !arm64)

package main

import "embed"

var insideFiles embed.FS

const insideFile = "none"
