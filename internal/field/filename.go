package field

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFileName is the longest name of a file, in bytes.
const maxFileName = 200

// Hidden reports whether r is a control character, or one that changes how the
// text around it is shown, such as those that turn its direction.
func Hidden(r rune) bool {
	return unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// shownPath is a path without hidden characters, with slashes where it has backslashes.
func shownPath(name string) string {
	shown := strings.Map(func(r rune) rune {
		if Hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\uFFFD"))
	return strings.ReplaceAll(shown, `\`, "/")
}

// FilePath is a path without hidden characters and without steps above where it
// begins. "" where it names no file.
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

// FileName is the name of a file alone: without folders and hidden characters,
// and cut to what a file system takes, with its extension. "" where nothing is left.
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
