package testworld

import (
	"net/http"
	"net/netip"
	"os"
	"testing"

	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// Ingress returns the ingress of the world, whose sender has one address.
func Ingress(w *World) http.Handler {
	return webhook.NewIngress(webhook.IngressOptions{
		Receiver: w.Receiver, PublicURL: w.Deps.PublicURL, Limits: DefaultWebhookLimits(),
		Client: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
	})
}

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
