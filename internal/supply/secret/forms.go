package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// base64Line is the line length of the base64 command.
const base64Line = 76

// Forms lists the possible spellings of a value: unchanged, as a JSON string (also nested in
// another), percent-encoded, in hexadecimal, and in base64 at any position of the encoded text. An empty value has
// none.
func Forms(value string) []string {
	if value == "" {
		return nil
	}
	list := []string{value, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for _, escaped := range jsonForms(value) {
		list = append(list, escaped)
		list = append(list, jsonForms(escaped)...)
	}
	query := url.QueryEscape(value)
	for _, escaped := range []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(value)} {
		list = append(list, escaped, lowerPercent(escaped))
	}
	return append(list, base64Forms(value)...)
}

// jsonForms returns the two JSON spellings of a string: with <, > and & escaped, and without.
func jsonForms(value string) []string {
	var plain strings.Builder
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if enc.Encode(value) != nil {
		return nil // encoding a string never fails
	}
	escaped, _ := json.Marshal(value)
	quoted := strings.TrimSuffix(plain.String(), "\n")
	return []string{quoted[1 : len(quoted)-1], string(escaped[1 : len(escaped)-1])}
}

func lowerPercent(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			b.WriteString(strings.ToLower(s[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// base64Forms returns the base64 characters that depend only on the value, for each of the three
// positions of its first byte in a group of three.
func base64Forms(value string) []string {
	var list []string
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all := alphabet.EncodeToString([]byte("\x00\x00"[:before] + value))
			first := (before*8 + 5) / 6
			last := (before + len(value)) * 8 / 6
			if core := all[first:last]; len(core) > minMasked {
				list = append(list, core)
			}
			if before > 0 {
				continue
			}
			for len(all) > base64Line {
				list = append(list, all[:base64Line])
				if all = all[base64Line:]; len(all) >= 2*minMasked {
					list = append(list, all)
				}
			}
		}
	}
	return list
}
