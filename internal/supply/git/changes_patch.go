package git

import (
	"bytes"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// patch collects the output of git diff, file by file, and leaves out files that do not fit. It
// marks them as truncated.
type patch struct {
	files []penstock.FileChange // in the order of the output
	left  int                   // bytes
	mask  func(string) string
	parts []patchPart

	n       int    // files that have begun
	line    []byte // not complete yet
	header  string // first line of the active file
	section bytes.Buffer
	full    bool // the active file does not fit
}

// patchPart is the part of a patch about one file.
type patchPart struct {
	file int // in the list of files
	text string
}

// fileHeader begins the part of a file. No line of a file's content begins like this, because it has
// a prefix, or has no spaces.
const fileHeader = "diff --git "

// Write implements io.Writer.
func (p *patch) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			p.line = append(p.line, data...)
			break
		}
		p.line = append(p.line, data[:end]...)
		if err := p.add(p.line); err != nil {
			return 0, err
		}
		p.line, data = p.line[:0], data[end:]
	}
	return n, nil
}

// add adds one line. A file that became a link has two parts with the same header.
func (p *patch) add(line []byte) error {
	if bytes.HasPrefix(line, []byte(fileHeader)) && string(line) != p.header {
		p.endFile()
		if p.n++; p.n > len(p.files) {
			return fmt.Errorf("git diff-tree: a patch of more than %d files", len(p.files))
		}
		p.header = string(line)
	}
	if p.full = p.full || p.section.Len()+len(line) > p.left; p.full {
		return nil
	}
	_, err := p.section.Write(line)
	return err
}

func (p *patch) endFile() {
	if p.n == 0 {
		return
	}
	if text := p.mask(p.section.String()); p.full || len(text) > p.left {
		p.files[p.n-1].Truncated = true
	} else {
		p.left -= len(text)
		p.parts = append(p.parts, patchPart{p.n - 1, text})
	}
	p.section.Reset()
	p.full = false
}

// end ends the last file.
func (p *patch) end() error {
	if len(p.line) > 0 {
		if err := p.add(p.line); err != nil {
			return err
		}
	}
	p.endFile()
	if p.n != len(p.files) {
		return fmt.Errorf("git diff-tree: a patch of %d files instead of %d", p.n, len(p.files))
	}
	return nil
}
