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

func marks(*os.Root) (map[string][]byte, error) { return map[string][]byte{}, nil }

func setMarks(*os.Root, map[string][]byte) error { return nil }

func hides(fs.FileInfo) bool { return false }

func hide(*os.Root, string) error { return nil }

func stamp(info fs.FileInfo) (changed int64, inode uint64) { return info.ModTime().UnixNano(), 0 }

func removeMark(*os.Root, string) error { return nil }
