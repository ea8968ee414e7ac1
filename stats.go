package penstock

// MaxStatsHours is how many hours statistics can cover: 30 days of any time zone.
const MaxStatsHours = 30*24 + 24
