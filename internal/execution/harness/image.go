package harness

import (
	"encoding/base64"
	"io"
	"net/http"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// Limits of the pictures in a prompt. An agent finds the others as files. The limits are the
// strictest that any provider or agent sets.
const (
	maxImages     = 4
	maxImageBytes = 3 << 20 // 4 MiB in base64
)

// imageTypes are what all providers of models accept.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// Images lists the attached pictures.
func (b Briefing) Images() []string {
	var list []string
	add := func(files []penstock.File) {
		for _, f := range files {
			if imageTypes[f.MimeType] && f.Size <= maxImageBytes && len(list) < maxImages {
				list = append(list, f.Path)
			}
		}
	}
	add(b.Prompt.Files)
	if b.First {
		add(b.Files)
	}
	return list
}

// images returns pictures of the workspace as content of a prompt, if the agent can see them. The
// type comes from the content, since a program of the run may have changed the file.
func (a *acpAgent) images(paths []string) (blocks []acp.ContentBlock) {
	if !a.capable.Prompt.Image {
		return nil
	}
	for _, name := range paths {
		file, err := a.session.openFile(name)
		if err != nil {
			continue // the prompt names it
		}
		content, err := io.ReadAll(io.LimitReader(file, maxImageBytes+1))
		_ = file.Close()
		kind := http.DetectContentType(content)
		if err != nil || len(content) > maxImageBytes || !imageTypes[kind] {
			continue
		}
		blocks = append(blocks, acp.ContentBlock{
			Type: "image", MimeType: kind, Data: base64.StdEncoding.EncodeToString(content),
		})
	}
	return blocks
}
