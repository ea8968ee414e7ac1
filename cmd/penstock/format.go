package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
)

// age returns how long ago t was, in the largest unit.
func age(t penstock.Time) string {
	if t == 0 {
		return ""
	}
	return span(penstock.Now().Sub(t))
}

// span returns a duration in its largest unit, for lists.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", max(d, 0)/time.Second)
}

// timestamp formats t for people, in the zone of this machine, with its offset and age.
func timestamp(t penstock.Time) string {
	if t == 0 {
		return ""
	}
	text := t.Std().Local().Format("2006-01-02 15:04:05 -07:00")
	if d := penstock.Now().Sub(t); d < 0 {
		return text + " (in " + span(-d) + ")"
	}
	return text + " (" + age(t) + " ago)"
}

func duration(d penstock.Duration) string {
	if d == 0 {
		return ""
	}
	return time.Duration(d).Round(100 * time.Millisecond).String()
}

// number formats n with separators. It returns "" for zero.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

func queued(run penstock.Run) string {
	if run.QueuePosition == 0 {
		return ""
	}
	return fmt.Sprintf(" (number %d in the queue)", run.QueuePosition)
}

func statusText(m *penstock.StatusMessage) string {
	switch {
	case m == nil:
		return ""
	case m.ErrorCode == "":
		return m.Message
	}
	return fmt.Sprintf("%s (%s)", m.Message, m.ErrorCode)
}

func actor(a *penstock.Actor) string {
	if a == nil {
		return ""
	}
	return cmp.Or(a.DisplayName, a.Email, a.UID)
}

func usage(u *penstock.Usage) string {
	if u == nil {
		return ""
	}
	var parts []string
	if u.TotalTokens > 0 {
		parts = append(parts, number(u.TotalTokens)+" tokens")
	}
	if cost := cmp.Or(u.InferenceCostUSD, u.InferenceCost); cost != nil {
		parts = append(parts, "$"+strconv.FormatFloat(math.Round(*cost*1e4)/1e4, 'f', -1, 64))
	}
	return strings.Join(parts, ", ")
}

// pairs writes a map as key=value, by key.
func pairs(m map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, key+"="+m[key])
	}
	return strings.Join(parts, " ")
}

func artifactText(a penstock.Artifact) string {
	var data penstock.ArtifactData
	if json.Unmarshal(a.Data, &data) != nil {
		return string(a.Type)
	}
	name := cmp.Or(data.Title, data.Filename, data.URL, data.Description)
	if data.Title != "" && data.URL != "" {
		name += " " + data.URL
	}
	if data.SizeBytes > 0 {
		name += " (" + bytesText(data.SizeBytes) + ")"
	}
	if data.Observed != nil && *data.Observed {
		name += " (seen by the proxy)"
	} else if data.Observed != nil {
		name += " (reported by the agent or a client)"
	}
	return strings.TrimSpace(string(a.Type) + " " + name + " " + data.ArtifactUID)
}
