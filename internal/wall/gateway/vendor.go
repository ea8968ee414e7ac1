package gateway

import (
	"slices"
	"strings"
)

// Vendor is a provider that its own tools configure by variables of the environment.
type Vendor struct {
	Name string // of its Provider
	API  API
	// Key and URL are the variables of its key and of its base URL.
	Key, URL string
	// keys are further variables of its key.
	keys []string
}

var vendors = []Vendor{
	{"anthropic", Anthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", []string{"ANTHROPIC_AUTH_TOKEN"}},
	{"openai", OpenAI, "OPENAI_API_KEY", "OPENAI_BASE_URL", nil},
	{"gemini", Gemini, "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", []string{"GOOGLE_API_KEY"}},
}

// Vendors lists the vendors.
func Vendors() []Vendor { return slices.Clone(vendors) }

// Variables are the variables that lead the tools of an API's vendor to an address.
func Variables(api API, address, key string) map[string]string {
	for _, v := range vendors {
		if v.API == api {
			return map[string]string{v.Key: key, v.URL: address}
		}
	}
	return nil
}

// VendorOfKey returns the vendor whose tools read a key from a variable.
func VendorOfKey(variable string) (Vendor, bool) {
	variable = strings.ToUpper(variable)
	i := slices.IndexFunc(vendors, func(v Vendor) bool { return v.Key == variable || slices.Contains(v.keys, variable) })
	if i < 0 {
		return Vendor{}, false
	}
	return vendors[i], true
}

// keyMissing explains why a call to a vendor cannot be authorized, "" if it can. A server at
// another address may need no key.
func (c *activeCall) keyMissing() string {
	i := slices.IndexFunc(vendors, func(v Vendor) bool { return v.Name == c.u.Name })
	if c.key() != "" || c.u.BaseURL != "" || i < 0 {
		return ""
	}
	return "This worker has no key for the provider " + c.u.Name + ": set " + vendors[i].Key +
		" for the worker, or give the run its own key in harness_auth_secrets."
}
