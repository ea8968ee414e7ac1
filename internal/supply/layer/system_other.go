//go:build !linux

package layer

import (
	"io"
	"io/fs"
	"os"
)

func identity(fs.FileInfo) (id any, several bool) { return nil, false }

func sparse(fs.FileInfo) bool { return false }

func nextData(_ *os.File, _ int64) (start, end int64, err error) { return 0, 0, io.EOF }

func flush(string) error { return nil }

func copyHidden(fs.FileInfo, *os.Root, string) (hidden bool, err error) { return false, nil }

func copyMarks(*os.Root, *os.Root) error { return nil }
