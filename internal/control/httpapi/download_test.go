package httpapi

import "testing"

func TestAttachmentNames(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, want string }{
		{"", "attachment"},
		{"summary.md", `attachment; filename="summary.md"`},
		{"two words.txt", `attachment; filename="two words.txt"`},
		{"größe.txt", `attachment; filename="gr__e.txt"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt`},
		{`a"b\c`, `attachment; filename="a_b_c"; filename*=UTF-8''a%22b%5Cc`},
		{"a\r\nSet-Cookie: x", `attachment; filename="a__Set-Cookie: x"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x`},
		{"../../etc/passwd", `attachment; filename=".._.._etc_passwd"; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd`},
		{"\xff.bin", `attachment; filename="_.bin"; filename*=UTF-8''_.bin`},
	}
	for _, tt := range tests {
		if got := attachment(tt.name); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestUnreadableTypesAreBytes(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                          "application/octet-stream",
		"text/html":                 "text/html",
		"text/plain; charset=utf-8": "text/plain; charset=utf-8",
		"text/html\r\nX-Evil: 1":    "application/octet-stream",
		"nonsense":                  "application/octet-stream",
	} {
		if got := safeType(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
