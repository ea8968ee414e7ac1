package main

import "embed"

//go:embed all:inside/arm64
var insideFiles embed.FS

const insideFile = "inside/arm64/penstock-inside"
