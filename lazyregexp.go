package penstock

import (
	"regexp"
	"sync"
)

// LazyRegexp returns a function that compiles an expression with its first call. Most processes of the
// program are short, and need few of all its expressions. It panics if the expression is not valid.
func LazyRegexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
