package main

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// insideSum is the SHA-256 of the program in insideFile, in hexadecimal. Only a build that has just
// built that file sets it, as make build and scripts/release do with scripts/build-inside.
var insideSum string

// insideDir is the folder of the small program in a data folder.
const insideDir = "inside"

// insideProgram returns the small program that sandboxes start (cmd/penstock-inside), or nil. A file that
// an earlier build has left, or one for another purpose, is not used: this program takes its place.
var insideProgram = sync.OnceValue(func() []byte {
	content, _ := insideFiles.ReadFile(insideFile)
	return verified(content, insideSum)
})

// verified returns content if it has the given SHA-256, in hexadecimal, or nil.
func verified(content []byte, want string) []byte {
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != want {
		return nil
	}
	return content
}

// placeInside sets from where sandboxes execute the small program. A folder that does not exist gets
// none.
func placeInside(o *sandbox.Options, data string) {
	o.Program = insideProgram()
	if existing(data) == filepath.Clean(data) {
		o.ProgramDir = filepath.Join(data, insideDir)
	}
}

// reportStarts logs why runs start slowly, if they do.
func reportStarts(log *slog.Logger, s sandbox.Sandbox) {
	if why := sandbox.StartsSlowly(s); why != nil {
		log.Info("runs start with this whole program, which takes more processor time", "reason", why)
	}
}
