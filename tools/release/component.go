package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// modules returns the Go modules that were linked into a binary, and the standard library.
func modules(info *buildinfo.BuildInfo) []cyclonedx.Component {
	std := strings.TrimPrefix(info.GoVersion, "go")
	found := []cyclonedx.Component{library("std", std, "pkg:golang/std@"+std)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		found = append(found, library(m.Path, m.Version, "pkg:golang/"+m.Path+"@"+m.Version))
	}
	return found
}

// locked is a package in a package-lock.json of npm.
type locked struct {
	Version   string `json:"version"`
	License   string `json:"license"`
	Integrity string `json:"integrity"`
	Dev       bool   `json:"dev"`
}

// dashboard returns the npm packages that a lock names and that are not only for development.
func dashboard(lock string) ([]cyclonedx.Component, error) {
	content, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Packages map[string]locked `json:"packages"`
	}
	if err := json.Unmarshal(content, &parsed); err != nil {
		return nil, fmt.Errorf("read %s: %w", lock, err)
	}
	var found []cyclonedx.Component
	for _, path := range slices.Sorted(maps.Keys(parsed.Packages)) {
		p := parsed.Packages[path]
		// "" is the dashboard itself. A package of a package lies in a node_modules of its own.
		if path == "" || p.Dev || p.Version == "" {
			continue
		}
		name := path[strings.LastIndex(path, "node_modules/")+len("node_modules/"):]
		c := library(name, p.Version, "pkg:npm/"+strings.Replace(name, "@", "%40", 1)+"@"+p.Version)
		if slices.ContainsFunc(found, func(other cyclonedx.Component) bool { return other.BOMRef == c.BOMRef }) {
			continue
		}
		c.Licenses = licensed(p.License)
		if digest, ok := strings.CutPrefix(p.Integrity, "sha512-"); ok {
			raw, err := base64.StdEncoding.DecodeString(digest)
			if err != nil {
				return nil, fmt.Errorf("read the integrity of %s: %w", path, err)
			}
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA512, Value: hex.EncodeToString(raw)}}
		}
		found = append(found, c)
	}
	return found, nil
}

func library(name, version, purl string) cyclonedx.Component {
	return cyclonedx.Component{
		BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: purl,
	}
}

// licensed returns a license by its SPDX expression, or nil for "".
func licensed(expression string) *cyclonedx.Licenses {
	if expression == "" {
		return nil
	}
	return &cyclonedx.Licenses{{Expression: expression}}
}
