// Records what Masterminds/semver makes of generated versions and ranges, as the golden table that
// crates/base is tested against: one JSON object per line.
//
//	go run . 500 > ../../crates/base/tests/golden/semver.jsonl
//	go run . 100000 > FILE && SLUICE_SEMVER_CASES=FILE cargo test -p sluice-base --test semver
package main

import (
	"bufio"
	"encoding/json"
	"math/rand"
	"os"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// A Case is a range and versions; the rest is the library's answer.
type Case struct {
	Range      string   `json:"range"`
	RangeError string   `json:"rangeError"`
	Versions   []Answer `json:"versions"`
}

// An Answer is about one version: how it reads, whether the range takes it, and how it compares with the
// version before it.
type Answer struct {
	Version  string `json:"version"`
	Error    string `json:"error"`
	Text     string `json:"text"`
	Taken    bool   `json:"taken"`
	Compared int    `json:"compared"`
}

var random = rand.New(rand.NewSource(35))

func main() {
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for range count {
		if err := encoder.Encode(generate()); err != nil {
			panic(err)
		}
	}
}

func generate() Case {
	c := Case{Range: ranges(), Versions: []Answer{}}
	constraint, err := semver.NewConstraint(c.Range)
	if err != nil {
		c.RangeError = err.Error()
	}
	var before *semver.Version
	for range 1 + random.Intn(5) {
		answer := Answer{Version: version()}
		found, err := semver.NewVersion(answer.Version)
		if err != nil {
			answer.Error = err.Error()
		} else {
			answer.Text = found.String()
			answer.Taken = constraint != nil && constraint.Check(found)
			if before != nil {
				answer.Compared = found.Compare(before)
			}
			before = found
		}
		c.Versions = append(c.Versions, answer)
	}
	return c
}

func pick(from ...string) string { return from[random.Intn(len(from))] }

func number() string {
	return pick("0", "0", "1", "1", "2", "3", "10", "11", "01", "00", "18446744073709551615", "18446744073709551616")
}

func small() string { return pick("0", "0", "1", "1", "2", "3") }

func numbers(one func() string, wild bool) string {
	parts := []string{one()}
	for range random.Intn(3) {
		parts = append(parts, one())
	}
	if random.Intn(20) == 0 {
		parts = append(parts, one())
	}
	if wild && random.Intn(3) == 0 {
		parts[random.Intn(len(parts))] = pick("x", "X", "*", "x1", "|", "")
	}
	return strings.Join(parts, ".")
}

func suffix() string {
	text := ""
	if random.Intn(3) == 0 {
		text += "-" + pick("0", "1", "01", "rc", "rc.1", "rc.2", "alpha", "alpha.1", "alpha.beta", "-", "a-b", "1a", "", "rc.", "rc..1", "99", "103")
	}
	if random.Intn(5) == 0 {
		text += "+" + pick("a", "1", "01", "a.b", "", "a+b", "-")
	}
	return text
}

func version() string {
	one := small
	if random.Intn(6) == 0 {
		one = number
	}
	return pick("", "", "v", "V", " ") + numbers(one, random.Intn(20) == 0) + suffix() + pick("", "", "", "", " ", "x")
}

func condition() string {
	one := small
	if random.Intn(10) == 0 {
		one = number
	}
	operator := pick("", "", "=", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", "==", "<>", "! =")
	return pick("", "", " ") + operator + pick("", "", " ") + pick("", "", "v") + numbers(one, true) + suffix()
}

func ranges() string {
	if random.Intn(25) == 0 {
		return pick("", " ", "*", "x", "latest", "||", "1 ||", ", 1", "1,,2", "1 - ", ">=", "1 2 3", "*.*.*")
	}
	var groups []string
	for range 1 + random.Intn(2) {
		group := condition()
		for range random.Intn(3) {
			group += pick(",", ", ", " ", " , ", " - ", "") + condition()
		}
		groups = append(groups, group)
	}
	return strings.Join(groups, pick("||", " || ", "|| ", "|"))
}
