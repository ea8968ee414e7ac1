package sandbox

import "github.com/penstock-dev/penstock/internal/wall/inside"

// SeparatesSockets reports whether the kernel can confine abstract unix sockets to a sandbox of
// kind Bubblewrap that is not sealed. Otherwise runs reach each other's sockets, and the host's.
func SeparatesSockets() bool { return inside.SeparatesSockets() }
