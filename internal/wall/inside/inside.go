// Package inside is what runs in and around a sandbox: the supervisor of a tree, and the first
// program in a sandbox, which seals it, takes part in its proof, and relays its connections. Package
// sandbox starts all of them, several for each tree. So they are a program of their own
// (cmd/penstock-inside), which starts in a millisecond, and this package imports little: no TLS, no
// HTTP, and nothing of ours. The large program has the same commands, for builds without the small
// one.
package inside
