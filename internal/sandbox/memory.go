package sandbox

import (
	"fmt"
	"os"
	"strings"
)

// MachineMemory is how much memory this machine has, in bytes; 0 where that is not known.
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
