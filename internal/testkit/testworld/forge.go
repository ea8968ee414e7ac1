package testworld

import (
	"net/netip"
	"os"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// To connects to a forge of a test, although its address is private.
func To(tb testing.TB, f *testkit.Forge) *egress.Outbound {
	tb.Helper()
	ca, err := os.ReadFile(f.CAFile)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := egress.NewOutbound(egress.OutboundOptions{
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, CA: ca,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}
