package penstock

// BundledSkill is an entry in the catalog of bundled skills. Ids never change, because usage is
// grouped by them across releases.
type BundledSkill struct {
	ID          string `json:"id"`
	Purpose     string `json:"purpose"`
	Shipped     bool   `json:"shipped"`
	Reason      string `json:"reason,omitempty"` // why this release does not include it
	Description string `json:"description,omitempty"`
	BasePrompt  string `json:"base_prompt,omitempty"`
}
