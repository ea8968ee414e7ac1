package filter

import (
	"bytes"
	"slices"
	"strconv"
)

// appendNumber appends the one form that all JSON numbers of the same decimal
// value share: an optional minus, the digits without zeros at either end, e, and
// the power of ten that they count. Zero is 0. It takes time linear in the text,
// whatever the exponent.
func appendNumber(dst, text []byte) []byte {
	mantissa, exponent := text, []byte(nil)
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	start := len(dst)
	if mantissa[0] == '-' {
		dst, mantissa = append(dst, '-'), mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	if whole = bytes.TrimLeft(whole, "0"); len(whole) == 0 {
		// Zeros behind the point and before the first digit count nothing.
		dst = append(dst, bytes.TrimLeft(fraction, "0")...)
	} else {
		dst = append(append(dst, whole...), fraction...)
	}
	digits := bytes.TrimRight(dst[start:], "0")
	if len(digits) == 0 || digits[len(digits)-1] == '-' {
		return append(dst[:start], '0')
	}
	power := int64(len(dst)-start-len(digits)) - int64(len(fraction))
	return appendSum(append(dst[:start+len(digits)], 'e'), exponent, power)
}

// appendSum appends exponent, the digits behind an e with their sign, plus n.
func appendSum(dst, exponent []byte, n int64) []byte {
	negative := len(exponent) > 0 && exponent[0] == '-'
	exponent = bytes.TrimLeft(exponent, "+-0")
	if len(exponent) <= 18 { // fits, and so does the sum
		var sum int64
		for _, digit := range exponent {
			sum = 10*sum + int64(digit-'0')
		}
		if negative {
			sum = -sum
		}
		return strconv.AppendInt(dst, sum+n, 10)
	}
	// Its magnitude is over 10^18 and n is no longer than a text: the sign stays.
	if negative {
		dst, n = append(dst, '-'), -n
	}
	first := len(dst)
	dst = append(dst, exponent...)
	for i := len(dst) - 1; n != 0 && i >= first; i-- {
		n += int64(dst[i] - '0')
		digit := (n%10 + 10) % 10
		dst[i] = byte('0' + digit)
		n = (n - digit) / 10
	}
	if n > 0 {
		return slices.Insert(dst, first, byte('0'+n)) //nolint:gosec // a carry is at most 1
	}
	zeros := len(dst[first:]) - len(bytes.TrimLeft(dst[first:], "0"))
	return slices.Delete(dst, first, first+zeros)
}
