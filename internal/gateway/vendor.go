package gateway

import "strings"

// ProviderOfKey returns the provider that a vendor's own tools use the key in a variable for,
// such as anthropic for ANTHROPIC_API_KEY. It is "" if no vendor has such a variable.
func ProviderOfKey(variable string) string {
	switch strings.ToUpper(variable) {
	case "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN":
		return "anthropic"
	case "OPENAI_API_KEY":
		return "openai"
	case "GEMINI_API_KEY", "GOOGLE_API_KEY":
		return "gemini"
	}
	return ""
}
