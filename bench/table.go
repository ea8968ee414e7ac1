package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// table is printed row by row, as the figures come.
type table struct {
	w      io.Writer
	missed int
	headed bool
}

// row is one figure. Empty cells are not printed.
type row struct {
	what     string
	penstock string
	bare     string
	ratio    string
	aim      aim
}

// aim is the target of a figure; the zero value means no target.
type aim struct {
	text   string
	missed bool
}

func atLeast(got, want float64, text string) aim { return aim{text, got < want} }
func upTo(got, want float64, text string) aim    { return aim{text, got > want} }
func below(got, want float64, text string) aim   { return aim{text, got >= want} }

func (t *table) heading(text string) {
	if !t.headed {
		fmt.Fprintf(t.w, "\n%-48s %12s %12s %8s   %s\n", "", "penstock", "bare", "ratio", "aim")
		t.headed = true
	}
	fmt.Fprintf(t.w, "\n%s\n", text)
}

func (t *table) note(text string) { fmt.Fprintf(t.w, "  %s\n", text) }

func (t *table) row(r row) {
	result := ""
	switch {
	case r.aim.missed:
		result = "   missed"
		t.missed++
	case r.aim.text != "":
		result = "   met"
	}
	line := fmt.Sprintf("  %-46s %12s %12s %8s   %s%s", r.what, r.penstock, r.bare, r.ratio, r.aim.text, result)
	fmt.Fprintln(t.w, strings.TrimRight(line, " "))
}

func (t *table) footer() {
	switch t.missed {
	case 0:
		fmt.Fprintln(t.w, "\nEvery aim was met.")
	case 1:
		fmt.Fprintln(t.w, "\nOne aim was missed.")
	default:
		fmt.Fprintf(t.w, "\n%d aims were missed.\n", t.missed)
	}
}

// count formats a number with separated thousands.
func count(n float64) string {
	digits := strconv.FormatInt(int64(n+.5), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 10 {
		return fmt.Sprintf("%.2f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}
