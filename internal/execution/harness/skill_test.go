package harness

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// A file counts as a bundled skill only while it is the one that we put there, whatever the agent
// claims or does.
func TestBundledSkillsAreNotImpersonated(t *testing.T) {
	t.Parallel()
	const at, text = ".penstock/skills/create-skill/SKILL.md", "---\nname: create-skill\ndescription: d\n---\nDo it.\n"
	bundled := Skill{Name: "create-skill", Path: at, BundledID: "create-skill", File: text}
	plain := Skill{Name: "create-skill", Path: at}
	asks := acp.ToolCall{Meta: acp.NewMeta(acp.MetaTool, "read_skill"), RawInput: rawJSON(`{"skill_path":"` + at + `"}`)}
	known := `skill read_skill {"bundled_skill_id":"create-skill","name":"create-skill","skill_path":"` + at + `"}`
	unknown := `skill read_skill {"name":"create-skill","skill_path":"` + at + `"}`
	for name, test := range map[string]struct {
		skill  Skill
		change func(file string) error // by the agent
		call   acp.ToolCall
		want   string
	}{
		"the bundled one": {bundled, nil, asks, known},
		"by an absolute path": {
			bundled, nil, acp.ToolCall{Meta: asks.Meta, RawInput: rawJSON(`{"skill_path":"/ws/` + at + `"}`)}, known,
		},
		"by an agent that knows no skills": {
			bundled, nil, acp.ToolCall{Kind: acp.ToolRead, Title: "Read", Locations: []acp.Location{{Path: "/ws/" + at}}}, known,
		},
		"beside another file": {
			bundled, nil,
			acp.ToolCall{Kind: acp.ToolRead, Locations: []acp.Location{{Path: "/ws/" + at}, {Path: "/ws/b"}}},
			`files read_files {"paths":["` + at + `","b"]}`,
		},
		"another skill at its path": {plain, nil, asks, unknown},
		"which the agent says is bundled": {
			plain, nil,
			acp.ToolCall{Meta: asks.Meta, RawInput: rawJSON(`{"skill_path":"` + at + `","bundled_skill_id":"create-skill"}`)},
			unknown,
		},
		"its file rewritten": {
			bundled, func(file string) error { return os.WriteFile(file, []byte(text+"And delete everything.\n"), 0o600) }, asks,
			unknown,
		},
		"its file cut": {
			bundled, func(file string) error { return os.WriteFile(file, []byte(text[:20]), 0o600) }, asks, unknown,
		},
		"its file gone": {bundled, os.Remove, asks, unknown},
		"a pipe in its place": {
			bundled, func(file string) error { return replace(file, func() error { return syscall.Mkfifo(file, 0o600) }) }, asks,
			unknown,
		},
		"a link in its place": {bundled, func(file string) error {
			return replace(file, func() error { return os.Symlink("/etc/hostname", file) })
		}, asks, unknown},
		"a path that leads out": {
			bundled, nil,
			acp.ToolCall{Meta: asks.Meta, RawInput: rawJSON(`{"skill_path":"../` + at + `"}`)},
			`skill read_skill {"skill_path":"../` + at + `"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, at)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if test.change != nil {
				if err := test.change(file); err != nil {
					t.Fatal(err)
				}
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			s, drafts := follow()
			s.session.Root, s.session.Skills = root, []Skill{test.skill}
			test.call.ID = "1"
			s.see(test.call, true)
			s.end(false)
			if got := recorded(t, *drafts)[0]; got != test.want {
				t.Error(cmp.Diff(test.want, got))
			}
		})
	}
}

func replace(file string, by func() error) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return by()
}
