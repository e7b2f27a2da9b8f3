package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Writes what of Go's Unicode data crates/base needs, as arrays that Rust includes.
func tables(directory string) {
	write(filepath.Join(directory, "printable.in"), "what strconv.IsPrint accepts", printable())
	write(filepath.Join(directory, "regexp/unicode_classes.in"), "names of \\p{...} without spaces, dashes and underscores", classes())
}

func write(path, what string, rows []string) {
	text := fmt.Sprintf("// Recorded by conformance/golayer with %s (Unicode %s): %s.\n[\n%s]\n", runtime.Version(), unicode.Version, what, strings.Join(rows, ""))
	check(os.WriteFile(path, []byte(text), 0o644))
}

func printable() (rows []string) {
	start := rune(-1)
	for char := rune(0); char <= unicode.MaxRune+1; char++ {
		is := char <= unicode.MaxRune && strconv.IsPrint(char)
		if is && start < 0 {
			start = char
		} else if !is && start >= 0 {
			rows = append(rows, fmt.Sprintf("(0x%x, 0x%x),\n", start, char-1))
			start = -1
		}
	}
	return rows
}

func classes() (rows []string) {
	names := map[string]string{}
	for name := range unicode.Categories {
		names[name] = "gc=" + name
	}
	for name := range unicode.Scripts {
		names[name] = "sc=" + name
	}
	for name, category := range unicode.CategoryAliases {
		names[name] = "gc=" + category
	}
	for name, property := range names {
		if _, err := regexp.Compile(`\p{` + name + `}`); err == nil {
			canonical := strings.ToLower(strings.ReplaceAll(name, "_", ""))
			rows = append(rows, fmt.Sprintf("(%q, %q),\n", canonical, property))
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}
