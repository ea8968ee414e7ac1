package penstock_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestVisibleTextHasNoHiddenCharacters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x00b\x1b[31mc\td\n":            "ab[31mc\td\n",
		"one\r\ntwo\rthree\u2028four":     "one\ntwo\nthree\nfour",
		"pay \u202etoor\u202c \u2066x":    "pay toor x",
		"tag\U000e0041\U000e007f, \ufeff": "tag, ",
		"zero\u200bwidth\u200dword":       "zerowidthword",
		"a\ufe0f\U000e0100b":              "ab",
		"\u0646\u200c\u0645":              "\u0646\u200c\u0645",
		"\U0001f468\u200d\U0001f469":      "\U0001f468\u200d\U0001f469",
		"1\ufe0f\u20e3":                   "1\ufe0f\u20e3",
		"bad \xff":                        "bad \ufffd",
	} {
		if got := penstock.VisibleText(text, nil); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
