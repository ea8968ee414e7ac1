package definition

import "github.com/penstock-dev/penstock"

// CatchUps lists the values of CatchUp.
func CatchUps() []penstock.CatchUp {
	return []penstock.CatchUp{penstock.CatchUpOnce, penstock.CatchUpAll, penstock.CatchUpNone}
}

// Overlaps lists the values of Overlap.
func Overlaps() []penstock.Overlap {
	return []penstock.Overlap{penstock.OverlapAllow, penstock.OverlapQueue, penstock.OverlapSkip, penstock.OverlapReplace}
}
