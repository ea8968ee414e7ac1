package gate

import (
	"strings"

	"github.com/penstock-dev/penstock"
)

// person is who made a commit.
type person struct{ name, email string }

var personLine = penstock.LazyRegexp(`^(author|committer) ([^<>\x00]*) <([^<>\x00]*)> [0-9]+ [+-][0-9]{4}$`)

// readPeople returns the author and the committer of a commit as git stores it. odd says what is wrong with a
// commit that programs may read in different ways: they must not show somebody else than is checked here. So
// its header has only the fields that git writes, in git's order, once, and as UTF-8.
func readPeople(commit string) (people []person, odd string) {
	header, _, found := strings.Cut(commit, "\n\n")
	if !found {
		return nil, "has no message"
	}
	lines := strings.Split(header, "\n")
	if strings.HasPrefix(lines[0], "tree ") {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.HasPrefix(lines[0], "parent ") {
		lines = lines[1:]
	}
	for _, role := range []string{"author", "committer"} {
		var p []string
		if len(lines) > 0 {
			p = personLine().FindStringSubmatch(lines[0])
		}
		if p == nil || p[1] != role {
			return nil, "has an odd " + role
		}
		people, lines = append(people, person{p[2], p[3]}), lines[1:]
	}
	for _, line := range lines {
		switch name, value, _ := strings.Cut(line, " "); {
		case name == "", name == "gpgsig", name == "gpgsig-sha256", name == "mergetag": // "": it goes on
		case name == "encoding" && strings.EqualFold(value, "UTF-8"):
		default:
			return nil, "has a header that git does not write"
		}
	}
	return people, ""
}
