package request

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFileName is the longest name of a file, in bytes.
const maxFileName = 200

// Hidden reports whether r is a control character, or changes how the text around it is shown,
// such as its direction.
func Hidden(r rune) bool {
	return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// shownPath returns a path without hidden characters, and with slashes instead of backslashes.
func shownPath(name string) string {
	shown := strings.Map(func(r rune) rune {
		if Hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	return strings.ReplaceAll(shown, `\`, "/")
}

// FilePath returns a path without hidden characters and without steps above its start, or "" if
// it names no file.
func FilePath(name string) string {
	name = strings.TrimSpace(shownPath(name))
	clean := path.Clean("/" + name)
	if clean == "/" {
		return ""
	}
	if strings.HasPrefix(name, "/") {
		return clean
	}
	return clean[1:]
}

// FileName returns the name of a file without folders and hidden characters. It shortens the
// name for file systems, but keeps the extension. It returns "" if nothing is left.
func FileName(name string) string {
	name = strings.TrimSpace(path.Base(shownPath(name)))
	if strings.Trim(name, "./ ") == "" {
		return ""
	}
	if len(name) <= maxFileName {
		return name
	}
	extension := path.Ext(name)
	if len(extension) > maxFileName/4 {
		extension = ""
	}
	end := maxFileName - len(extension)
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + extension
}
