package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// MachineMemory returns the memory of this machine in bytes, or 0 if unknown.
func MachineMemory() int64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(content), "MemTotal:")
	var kilobytes int64
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		return 0
	}
	return kilobytes << 10
}
