package penstock

import (
	"fmt"
	"strings"
)

// MemoryStore attaches a memory store to an agent: the contract's
// MemoryStoreRef.
type MemoryStore struct {
	UID          string `json:"uid"`
	Access       string `json:"access"`       // read_write or read_only
	Instructions string `json:"instructions"` // how the agent should use it
}

// inferenceProviders are settings of model providers.
type inferenceProviders struct {
	AWS *awsInference `json:"aws,omitempty"`
}

// awsInference holds the settings of AWS Bedrock.
type awsInference struct {
	Disabled bool   `json:"disabled,omitzero"` // opts out of Bedrock
	Region   string `json:"region,omitempty"`
	RoleARN  string `json:"role_arn,omitempty"`
}

// CheckMemoryStores returns the errors of a list of memory stores at a pointer.
func CheckMemoryStores(at string, stores []MemoryStore) []FieldError {
	var errs []FieldError
	checkStores(func(pointer, format string, args ...any) {
		errs = append(errs, FieldError{pointer, fmt.Sprintf(format, args...)})
	}, at, stores)
	return errs
}

func checkStores(bad func(pointer, format string, args ...any), at string, stores []MemoryStore) {
	seen := map[string]bool{}
	for i, m := range stores {
		pointer := fmt.Sprintf("%s/%d", at, i)
		switch {
		case m.UID == "":
			bad(pointer+"/uid", "is required: the uid of a memory store")
		case seen[m.UID]:
			bad(pointer+"/uid", "names a memory store that is already listed")
		}
		seen[m.UID] = true
		if m.Access != "read_write" && m.Access != "read_only" {
			bad(pointer+"/access", "must be read_write or read_only")
		}
		if strings.TrimSpace(m.Instructions) == "" {
			bad(pointer+"/instructions", "is required: how the agent should use the memory store")
		}
	}
}
