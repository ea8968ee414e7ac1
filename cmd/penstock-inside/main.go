// Command penstock-inside is what penstock starts around and in each sandbox, see package inside.
// penstock contains it, so it is never installed.
package main

import (
	"os"

	"github.com/penstock-dev/penstock/internal/wall/inside"
)

func main() { os.Exit(inside.Main(os.Args[1:])) }
