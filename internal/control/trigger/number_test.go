package trigger_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/control/trigger"
)

func TestEqualNumbersHaveOneForm(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 18)
	tests := []struct {
		want  string
		texts []string
	}{
		{
			"0",
			[]string{"0", "-0", "0.0", "-0.000", "0e5", "0E-5", "0.0e+999999999999999999999999", "-0e-999999999999999999999999"},
		},
		{
			"1e0",
			[]string{"1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "0.001e3", "100e-02", "1e-0", "1e00000000000000000000000000"},
		},
		{"-1e0", []string{"-1", "-1.0", "-10e-1", "-0.1e1"}},
		{"12e2", []string{"1200", "1.2e3", "0.0012e6", "12000.0e-1"}},
		{"102e-2", []string{"1.02", "1.020", "102e-2", "0.102E1"}},
		{"9007199254740993e0", []string{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"}},
		{"9007199254740992e0", []string{"9007199254740992"}},
		{"1e" + nines, []string{"1e" + nines, "1e+000" + nines, "10e" + nines[1:] + "8"}},
		{
			"1e1000000000000000000",
			[]string{
				"1e1000000000000000000", "10e" + nines, "0.1e1000000000000000001", "0.001e1000000000000000003",
				"1000e999999999999999997",
			},
		},
		{
			"1e-1000000000000000000",
			[]string{"1e-1000000000000000000", "0.1e-" + nines, "10e-1000000000000000001", "100e-1000000000000000002"},
		},
		{"1e9" + nines, []string{"1e9" + nines, "0.1e10000000000000000000", "10e9" + nines[1:] + "8"}},
		{"1e-99" + nines, []string{"1e-99" + nines, "10e-100000000000000000000"}},
		{"5e" + nines + nines, []string{"5e" + nines + nines, "50e" + nines + nines[1:] + "8"}},
		{
			"5e1" + strings.Repeat("0", 36),
			[]string{"5e1" + strings.Repeat("0", 36), "50e" + nines + nines, "0.05e1" + strings.Repeat("0", 35) + "2"},
		},
		{"5e-" + nines + nines, []string{"50e-1" + strings.Repeat("0", 36), "5e-" + nines + nines}},
	}
	for _, test := range tests {
		for _, text := range test.texts {
			if got := string(trigger.AppendNumber([]byte("x"), []byte(text))); got != "x"+test.want {
				t.Errorf("%s: got %s, want x%s", text, got, test.want)
			}
		}
	}
}

// TestNumbersAsIntegersWouldCompare compares the canonical form with the arithmetic of big
// integers, on numbers that are often equal.
func TestNumbersAsIntegersWouldCompare(t *testing.T) {
	t.Parallel()
	number := rapid.StringMatching(
		`-?(0|[1-9][0-2]{0,3})(\.[0-2]{1,4})?([eE][+-]?(0{0,3}[0-9]{1,` +
			`2}|99999999999999999[5-9]|100000000000000000[0-5]|9999999999999999999[89]))?`,
	)
	rapid.Check(t, func(t *rapid.T) {
		one := number.Draw(t, "one")
		other := rapid.OneOf(number, rapid.Just(shifted(t, one))).Draw(t, "other")
		got := string(trigger.AppendNumber(nil, []byte(one))) == string(trigger.AppendNumber(nil, []byte(other)))
		if want := equalNumbers(one, other); got != want {
			t.Errorf("%s and %s: got equal %t, want %t", one, other, got, want)
		}
	})
}

// shifted writes the same number with other zeros and another exponent.
func shifted(t *rapid.T, text string) string {
	digits, power := decimal(text)
	zeros := rapid.IntRange(0, 30).Draw(t, "zeros")
	if digits.Sign() != 0 {
		power.Sub(power, big.NewInt(int64(zeros)))
	}
	return digits.String() + strings.Repeat("0", min(zeros, 30*digits.CmpAbs(new(big.Int)))) + "e" + power.String()
}

// equalNumbers compares JSON numbers by value, slowly.
func equalNumbers(one, other string) bool {
	digits, power := decimal(one)
	digits2, power2 := decimal(other)
	return digits.Cmp(digits2) == 0 && (digits.Sign() == 0 || power.Cmp(power2) == 0)
}

// decimal is a JSON number as digits that do not end in 0, times a power of ten.
func decimal(text string) (digits, power *big.Int) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits, _ = new(big.Int).SetString(whole+fraction, 10)
	power, _ = new(big.Int).SetString("0"+strings.TrimLeft(exponent, "+-"), 10)
	if strings.HasPrefix(exponent, "-") {
		power.Neg(power)
	}
	power.Sub(power, big.NewInt(int64(len(fraction))))
	for ten := big.NewInt(10); digits.Sign() != 0; {
		quotient, rest := new(big.Int).QuoRem(digits, ten, new(big.Int))
		if rest.Sign() != 0 {
			break
		}
		digits = quotient
		power.Add(power, big.NewInt(1))
	}
	return digits, power
}
