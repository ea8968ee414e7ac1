package penstock

import "strings"

// Nearest returns the name with the smallest edit distance to word, ignoring case. Of several, it
// returns the first. It returns "" if every name differs in more than a third of the characters of
// word, plus one.
func Nearest(word string, names []string) string {
	best, least := "", len(word)/3+2
	for _, name := range names {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, row[j+1]+1, change)
		}
	}
	return row[len(b)]
}
