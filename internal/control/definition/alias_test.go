package definition_test

import (
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/definition"
)

func TestValidAlias(t *testing.T) {
	t.Parallel()
	for _, alias := range []string{
		"a", "Demo Factory-1.0_x", "café", "cafe\u0301", "Zahlungen für Köln", "支払い", "دفع ٣", "हिन्दी",
		strings.Repeat("ä", 60),
	} {
		if !definition.ValidAlias(alias) {
			t.Errorf("%q: got invalid", alias)
		}
	}
	for _, alias := range []string{
		"", " a", "a ", "a/b", "a\tb", "a\nb", "factory🚀", "a\u200bb", "a\u202eb", "a\xff", "a,b", "\u00a0a",
		strings.Repeat("ä", 61),
	} {
		if definition.ValidAlias(alias) {
			t.Errorf("%q: got valid", alias)
		}
	}
}
