package main

import (
	"math/rand"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var letters = []string{"a", "b", "ab", "c", "k", "s", "0", "7", "_", "-", ".", " ", "\n", "\t", "A", "K", "é", "ſ", "\u212a", "日", "σ", "ς", "Σ", "ß",
	"x", "/", "{", "}", "[", "]", "&", "~", ",", ":", "^", "\u0301", "\U0001f600"}

// What a pattern is made of: mostly well-formed, with pieces that Go and others read differently.
func atom(random *rand.Rand, depth int) string {
	switch random.Intn(16) {
	case 0, 1, 2:
		return pick(random, "a", "b", "c", "k", "s", "0", "_", "é", "ſ", "日", "σ", "-", "}", "]", "&", "~", "#", " ")
	case 3:
		return pick(random, ".", "^", "$", `\b`, `\B`, `\A`, `\z`, ".", "{", "{,2}", "{a}", "{01}", "{1", "{1,x}")
	case 4:
		return pick(random, `\d`, `\D`, `\w`, `\W`, `\s`, `\S`, `\pL`, `\PL`, `\pN`, `\p{Greek}`, `\P{Greek}`, `\p{^Greek}`, `\p{Lu}`,
			`\p{Any}`, `\p{L}`, `\p{Latin}`, `\p{letter}`, `\p{Uppercase_Letter}`, `\p{ascii}`, `\p{Assigned}`, `\p{LC}`, `\pC`)
	case 5:
		return pick(random, `\.`, `\_`, `\-`, `\/`, `\\`, `\a`, `\f`, `\t`, `\n`, `\r`, `\v`, `\x41`, `\x{e9}`, `\x{212A}`, `\101`, `\0`, `\07`, `\012`,
			`\x{d800}`, `\<`, `\[`, `\ `, `\#`, `\x{10ffff}`, `\77`, `\1234`)
	case 6, 7, 8:
		return class(random)
	case 9, 10:
		if depth > 0 {
			open := pick(random, "(", "(", "(?:", "(?i:", "(?s:", "(?m:", "(?U:", "(?is-m:", "(?-i:", "(?P<n>", "(?<n>", "(?P<n1>", "(?P<1>")
			return open + pattern(random, depth-1) + ")"
		}
		return "a"
	case 11:
		return pick(random, `\Qa.b\E`, `\Q\E`, `\Q[`, `\Q\\E`, "(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "(?i-s)", "()", "(|a)")
	case 12:
		return odd(random)
	default:
		return pick(random, "a", "b", "ab", "k", "x")
	}
}

// What is mostly refused.
func odd(random *rand.Rand) string {
	return pick(random, "(", ")", "[", "[a", "[b-a]", `\`, `\q`, `\1`, `\8`, `\x`, `\x4`, `\x{`, `\x{}`, `\x{110000}`, `\xg1`, `\C`, `\E`, `\Z`, `\p`,
		`\p{`, `\p{Foo}`, `\p{Old_Italic}`, `\pX`, `\u0041`, "(?", "(?i", "(?x)", "(?=a)", "(?!a)", "(?<=a)", "(?P<", "(?P<a", "(?P<a b>c)", "(?P=n)", "(?#c)",
		"(?--i)", "(?i-)", "(?-)", "(?i-:a)", "(?P>a)", "(?P<>a)", "(?<>a)", "(?<a", "**", "+*", "a{2}{3}", "a{1001}", "a{2,1}", "a{1,1001}", "a{99999999999}", "(a{100}){11}",
		"[[:foo:]]", "[[:alpha:]", "[[:alpha", "[:alpha:]", `[\d-z]`, `[a-\d]`, `[\`, `[\q]`, "[]", "[]a]", "[^]", "[^]a]", "[-", "[a-", "[a-]", "*", "+a", "?", "{1}", "|*", "(*)", "(?i)*", "a(?i)*", "^*", `\b+`, "$?",
		`\Q*`, "a**?", "a*??", "a{1}?{2}", `\pé`, `(?é)`, `\é`, "[é-a]", "(?P<é>a)")
}

func member(random *rand.Rand) string {
	return pick(random, "a", "b", "z", "0-9", "a-z", "A-Z", "a-c", "é", "ß-ÿ", `\d`, `\D`, `\w`, `\W`, `\s`, `\S`, `\pL`, `\P{Lu}`, `\p{Greek}`, "[:alpha:]",
		"[:^alpha:]", "[:word:]", "[:space:]", "[:punct:]", "[", "&", "&&", "~~", "--", "-", "^", ".", "$", "(", "|", "*", `\-`, `\]`, `\[`, `\n`, `\x41-\x43`,
		`\x{d800}-\x{dfff}`, `\x{d7ff}-\x{e000}`, "k", "s", "ſ", "\u212a", "σ", "{", "}", " ", "#", "+--", "[:lower:]", `\101`, `\_`, "日-本")
}

func class(random *rand.Rand) string {
	text := "[" + pick(random, "", "", "^") + pick(random, "", "", "", "]", "-")
	for range 1 + random.Intn(3) {
		text += member(random)
	}
	return text + pick(random, "", "", "", "-") + "]"
}

func piece(random *rand.Rand, depth int) string {
	text := atom(random, depth)
	if random.Intn(3) == 0 {
		text += pick(random, "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0}", "{1,}", "{0,2}?", "{2}?", "{0,0}", "{3,}?")
	}
	return text
}

func pattern(random *rand.Rand, depth int) string {
	var text strings.Builder
	for index := range 1 + random.Intn(4) {
		if index > 0 && random.Intn(5) == 0 {
			text.WriteString("|")
		}
		text.WriteString(piece(random, depth))
	}
	return text.String()
}

func subject(random *rand.Rand) string {
	var text strings.Builder
	for range random.Intn(8) {
		if random.Intn(12) == 0 {
			text.WriteRune(rune(random.Intn(0x2500)))
			continue
		}
		text.WriteString(letters[random.Intn(len(letters))])
	}
	return strings.ToValidUTF8(text.String(), "")
}

// A pattern and texts: why it is refused, or where it and its groups are found first, and all that is found.
func regularExpression(random *rand.Rand) []any {
	text := pattern(random, 2)
	if !utf8.ValidString(text) {
		panic(text)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return []any{text, err.Error(), []any{}}
	}
	var found []any
	for range 4 {
		subject := subject(random)
		places := []string{}
		for _, place := range compiled.FindStringSubmatchIndex(subject) {
			places = append(places, strconv.Itoa(place))
		}
		found = append(found, []any{subject, strings.Join(places, " "), strings.Join(compiled.FindAllString(subject, -1), "|")})
	}
	return []any{text, "", found}
}
