//go:build linux && !amd64 && !arm64

package sandbox

// nativeArch is 0: there is no filter for this processor, and so no sealed tree.
const nativeArch = 0

var forbiddenHere []uint32
