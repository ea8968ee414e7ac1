package worker

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"
)

// gitConfigs are the files in HOME in which git looks for an identity.
var gitConfigs = []string{".gitconfig", ".config/git/config"}

// writeGitIdentity gives the workspace an identity for commits, without which git refuses them. It is
// in HOME, so that repositories that the agent creates have it, too, and that a repository's own
// configuration and the run's variables, such as GIT_AUTHOR_NAME, win. A file that an earlier
// execution left stays.
func (p *preparation) writeGitIdentity() error {
	for _, name := range gitConfigs {
		if _, err := p.box.space.homeRoot.Lstat(name); err == nil {
			return nil
		}
	}
	host := ""
	if u, err := url.Parse(p.w.PublicURL); err == nil {
		host = u.Hostname()
	}
	name, email := "Penstock agent", "agent@"+cmp.Or(host, "localhost")
	if len(p.Pushes) > 0 { // the gate expects the account that pushes
		name, email = p.Pushes[0].Bot.Login, p.Pushes[0].Bot.Email
	}
	text := "[user]\n\tname = " + gitValue(name) + "\n\temail = " + gitValue(email) + "\n"
	return put(p.box.space.homeRoot, gitConfigs[0], 0o644, strings.NewReader(text))
}

// gitValue quotes a value for a configuration file of git (git-config(1), Syntax).
func gitValue(value string) string {
	value = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, value)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
