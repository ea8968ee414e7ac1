package main

import "embed"

//go:embed all:inside/amd64
var insideFiles embed.FS

const insideFile = "inside/amd64/penstock-inside"
