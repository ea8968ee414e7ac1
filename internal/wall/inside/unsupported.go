//go:build !linux

package inside

// Main fails: sandboxes exist on Linux only.
func Main([]string) int { return 2 }
