package penstock

// BundledSkill is an entry of the catalogue of skills that a server may come
// with. Ids stay: usage is grouped by them, whatever a release ships.
type BundledSkill struct {
	ID          string `json:"id"`
	Purpose     string `json:"purpose"`
	Shipped     bool   `json:"shipped"`
	Reason      string `json:"reason,omitempty"` // why it is not shipped
	Description string `json:"description,omitempty"`
	BasePrompt  string `json:"base_prompt,omitempty"`
}
