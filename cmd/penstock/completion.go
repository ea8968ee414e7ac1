package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a script that asks this program for candidates, so that they always fit the
// installed version.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell: bash, zsh or fish."`
}

func (cmd *completionCmd) Help() string {
	return "bash: source <(penstock completion bash). zsh: source <(penstock completion zsh). fish: penstock completion " +
		"fish | source."
}

func (cmd *completionCmd) Run(std *stdio) error {
	_, err := fmt.Fprint(std.out, completionScripts[cmd.Shell])
	return err
}

// Each line has one candidate: word, tab, description. The word ":file" stands for any file.
var completionScripts = map[string]string{
	"bash": `_penstock() {
  local word="${COMP_WORDS[COMP_CWORD]}" line lines
  [ "$word" = "=" ] && word=""
  [ "$COMP_CWORD" -gt 0 ] && [ "${COMP_WORDS[COMP_CWORD - 1]}" = "@" ] && word="@$word"
  lines="$("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)"
  if [ "$lines" = ":file" ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  else
    COMPREPLY=()
    while IFS= read -r line; do
      [[ -n "$line" && "$line" == "$word"* ]] && COMPREPLY+=("$line")
    done <<<"$lines"
  fi
}
complete -F _penstock penstock
`,
	"zsh": `#compdef penstock
_penstock() {
  local -a lines described
  local line
  lines=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "${lines[1]}" == ":file" ]]; then
    _files
    return
  fi
  for line in $lines; do
    described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe 'penstock' described
}
compdef _penstock penstock
`,
	"fish": `function __penstock_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = ":file"
      __fish_complete_path (commandline -ct)
    else
      printf '%s\n' $line
    end
  end
end
complete -c penstock -f -a '(__penstock_complete)'
`,
}

// completeCmd prints the candidates for the last word.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (cmd *completeCmd) Run(ctx context.Context, std *stdio, k *kong.Kong) error {
	words := cmd.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	// bash splits --flag=value into three words.
	if n := len(words); n > 0 && words[n-1] == "=" {
		words = append(words, "")
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "=" })
	for i := len(words) - 2; i >= 0; i-- { // and @last into two
		if words[i] == "@" {
			words = slices.Replace(words, i, i+2, "@"+words[i+1])
		}
	}
	for _, c := range candidates(ctx, k.Model.Node, words) {
		if _, err := fmt.Fprintf(std.out, "%s\n", strings.TrimSuffix(c.word+"\t"+c.help, "\t")); err != nil {
			return err
		}
	}
	return nil
}

type candidate struct{ word, help string }

var fileCandidate = []candidate{{word: ":file"}}

// typed is the parsed state of the words before the last one.
type typed struct {
	node      *kong.Node // the command so far
	flags     map[string]string
	arguments int
	waiting   *kong.Flag // the flag whose value comes next
}

// understand parses the words with kong's model.
func understand(node *kong.Node, words []string) typed {
	t := typed{node: node, flags: map[string]string{}}
	for _, word := range words {
		flag, hasValue := flagOf(t.node, word)
		switch {
		case t.waiting != nil:
			t.flags[t.waiting.Name], t.waiting = word, nil
		case flag != nil && hasValue:
			_, t.flags[flag.Name], _ = strings.Cut(word, "=")
		case flag != nil && !flag.IsBool():
			t.waiting = flag
		case flag == nil && child(t.node, word) != nil:
			t.node = child(t.node, word)
		case flag == nil && !strings.HasPrefix(word, "-"):
			t.arguments++
		}
	}
	return t
}

// candidates lists the candidates for the last word.
func candidates(ctx context.Context, node *kong.Node, words []string) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	t := understand(node, words[:len(words)-1])
	if t.waiting != nil {
		return t.values(ctx, t.waiting.Value, "")
	}
	if strings.HasPrefix(last, "-") {
		if flag, hasValue := flagOf(t.node, last); flag != nil && hasValue {
			return t.values(ctx, flag.Value, "--"+flag.Name+"=")
		}
		return flagsOf(t.node)
	}
	var list []candidate
	for _, c := range t.node.Children {
		if !c.Hidden {
			list = append(list, candidate{c.Name, c.Help})
		}
	}
	if all := t.node.Positional; len(all) > 0 {
		at := min(t.arguments, len(all)-1)
		if t.arguments == at || all[at].IsCumulative() {
			list = append(list, t.values(ctx, all[at], "")...)
		}
	}
	return list
}

func child(node *kong.Node, name string) *kong.Node {
	for _, c := range node.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// flagOf returns the flag that a word names, and whether the word also has the value.
func flagOf(node *kong.Node, word string) (flag *kong.Flag, hasValue bool) {
	name, _, hasValue := strings.Cut(word, "=")
	for _, flags := range node.AllFlags(true) {
		for _, f := range flags {
			if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
				return f, hasValue
			}
		}
	}
	return nil, false
}

func flagsOf(node *kong.Node) []candidate {
	var list []candidate
	for _, flags := range node.AllFlags(true) {
		for _, f := range flags {
			list = append(list, candidate{"--" + f.Name, f.Help})
		}
	}
	return list
}

// values lists the possible values: an enumeration's, files, or names from the server.
func (t typed) values(ctx context.Context, v *kong.Value, prefix string) []candidate {
	var list []candidate
	if v.Enum != "" {
		for _, word := range v.EnumSlice() {
			if word != "" {
				list = append(list, candidate{word: prefix + word})
			}
		}
		return list
	}
	switch v.Tag.Type {
	case "path", "existingfile", "existingdir":
		return fileCandidate
	}
	if v.Name == "folder" {
		return fileCandidate
	}
	return t.names(ctx, v, prefix)
}
