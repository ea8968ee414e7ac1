package trigger

import (
	"bytes"
	"slices"
	"strconv"
)

// appendNumber appends the canonical form of a JSON number: an optional minus, the digits without
// zeros at either end, e, and the exponent. Zero is 0. Its time is linear in the length of the
// text, for any exponent.
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
		// Drop zeros between the point and the first other digit.
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

// appendSum appends the sum of exponent and n. exponent has the digits after the e, with their
// sign.
func appendSum(dst, exponent []byte, n int64) []byte {
	negative := len(exponent) > 0 && exponent[0] == '-'
	exponent = bytes.TrimLeft(exponent, "+-0")
	if len(exponent) <= 18 { // exponent and sum fit into 64 bits
		var sum int64
		for _, digit := range exponent {
			sum = 10*sum + int64(digit-'0')
		}
		if negative {
			sum = -sum
		}
		return strconv.AppendInt(dst, sum+n, 10)
	}
	// The exponent is larger than 10^18 and n is at most the length of a text, so the sign stays.
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
