package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// size measures the size of the binary.
func (b *bench) size(context.Context) error {
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	b.out.row(row{what: "file", penstock: megabytes(info.Size()), aim: below(float64(info.Size()), 100e6, "< 100 MB")})
	return nil
}

// printSizes prints how much of a binary each module's code and data use. The binary must be built
// without -s. Data that belongs to no single module (types, strings, the tables of the runtime)
// grows with the code, and is listed by section.
func printSizes(w io.Writer, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return fmt.Errorf("%s has no symbols: build it without -ldflags -s: %w", path, err)
	}
	modules := []string{info.Main.Path}
	for _, d := range info.Deps {
		modules = append(modules, d.Path)
	}
	byModule, bySection := map[string]uint64{}, map[string]uint64{}
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			bySection[s.Name] = s.Size
		}
	}
	for _, s := range symbols {
		if int(s.Section) >= len(file.Sections) ||
			elf.ST_TYPE(s.Info) != elf.STT_FUNC && elf.ST_TYPE(s.Info) != elf.STT_OBJECT {
			continue
		}
		section := file.Sections[s.Section]
		module := moduleOf(s.Name, modules)
		if module == "" || bySection[section.Name] < s.Size {
			continue // created by the toolchain, or without a size in the file
		}
		byModule[module] += s.Size
		bySection[section.Name] -= s.Size
	}
	printMap(w, "code and data of a module", byModule)
	printMap(w, "the rest of a section", bySection)
	return nil
}

// moduleOf returns the module of a symbol's package, "standard library", or "" for data that the
// linker has collected from all packages.
func moduleOf(symbol string, modules []string) string {
	symbol = strings.TrimLeft(symbol[strings.LastIndexByte(symbol[:packageEnd(symbol)], ':')+1:], ".*")
	symbol = strings.ReplaceAll(symbol, "%2e", ".")
	best := ""
	for _, m := range modules {
		if rest, ok := strings.CutPrefix(symbol, m); ok && (rest == "" || rest[0] == '/' ||
			rest[0] == '.') && len(m) > len(best) {
			best = m
		}
	}
	switch first, _, _ := strings.Cut(symbol, "/"); {
	case best != "":
		return best
	case strings.HasPrefix(symbol, "main."):
		return modules[0]
	case symbol == "runtime.pclntab" || strings.HasPrefix(symbol, "type:") || !strings.Contains(symbol, "."):
		return ""
	case strings.Contains(first, ".") && strings.Contains(symbol, "/"):
		return ""
	}
	return "standard library"
}

// packageEnd returns an upper bound for the end of the package's path in a symbol's name.
func packageEnd(symbol string) int {
	if i := strings.IndexAny(symbol, "([,"); i >= 0 {
		return i
	}
	return len(symbol)
}

func printMap(w io.Writer, title string, sizes map[string]uint64) {
	fmt.Fprintf(w, "%10s  %s\n", "MB", title)
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) })
	const least = 100_000 // bytes: smaller ones are summed up
	var rest uint64
	for _, name := range names {
		if sizes[name] < least {
			rest += sizes[name]
			continue
		}
		fmt.Fprintf(w, "%10.1f  %s\n", float64(sizes[name])/1e6, name)
	}
	fmt.Fprintf(w, "%10.1f  smaller ones together\n", float64(rest)/1e6)
}
