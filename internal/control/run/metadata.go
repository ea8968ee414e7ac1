package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// The limits of a caller's metadata.
const (
	MaxMetadataKeys  = 20
	maxMetadataKey   = 64
	maxMetadataValue = 256
)

// The metadata keys of what started a run. Only the server sets them.
const (
	metadataAutomation = "automation_id"
	metadataWebhook    = "webhook_uid"
	metadataDelivery   = "delivery_id"
)

// Provenance returns the metadata of a run that an automation or delivery started. It omits
// keys without a value.
func Provenance(automationID, webhookUID, deliveryID string) map[string]string {
	m := map[string]string{metadataAutomation: automationID, metadataWebhook: webhookUID, metadataDelivery: deliveryID}
	maps.DeleteFunc(m, func(_, value string) bool { return value == "" })
	return m
}

// isProvenance reports whether only the server sets a metadata key.
func isProvenance(key string) bool {
	return key == metadataAutomation || key == metadataWebhook || key == metadataDelivery
}

// checkProvenance returns an error for each metadata key that only the server may set.
func checkProvenance(m map[string]string) []penstock.FieldError {
	var errs []penstock.FieldError
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if isProvenance(key) {
			errs = append(errs, penstock.FieldError{
				Pointer: "/metadata/" + key,
				Detail:  "is set only by the server: it shows which automation, webhook and delivery started a run",
			})
		}
	}
	return errs
}

// CheckMetadata returns the errors of a caller's metadata.
func CheckMetadata(m map[string]string) []penstock.FieldError {
	var errs []penstock.FieldError
	if len(m) > MaxMetadataKeys {
		errs = append(errs, penstock.FieldError{
			Pointer: "/metadata", Detail: fmt.Sprintf("has %d keys; at most %d are allowed", len(m), MaxMetadataKeys),
		})
	}
	bad := func(key, detail string) {
		errs = append(errs, penstock.FieldError{Pointer: "/metadata/" + penstock.EscapePointer(key), Detail: detail})
	}
	for k, v := range m {
		if !validMetadataKey(k) {
			bad(k, "is not a valid key: it must have 1 to 64 characters of a-z A-Z 0-9 . _ -")
		}
		if len(v) > maxMetadataValue || !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
			bad(k, "must be at most 256 bytes of UTF-8 without NUL")
		}
	}
	slices.SortFunc(errs, func(a, b penstock.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return errs
}

func validMetadataKey(k string) bool {
	if k == "" || len(k) > maxMetadataKey {
		return false
	}
	return !strings.ContainsFunc(k, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
	})
}
