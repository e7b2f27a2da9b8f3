// Records what Go and apimachinery make of generated quantities, durations and times, as the golden
// tables that crates/base is tested against: one case per line, fields separated by tabs and quoted.
//
//	go run . ../../crates/base/tests/golden
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	directory := os.Args[1]
	table(directory, "quantities.tsv", quantities)
	table(directory, "sums.tsv", sums)
	table(directory, "durations.tsv", durations)
	table(directory, "times.tsv", times)
}

func table(directory, name string, write func(*rand.Rand, func(...string))) {
	file, err := os.Create(filepath.Join(directory, name))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	defer out.Flush()
	fmt.Fprintln(out, "# recorded by conformance/values with k8s.io/apimachinery v0.35.4")
	write(rand.New(rand.NewSource(35)), func(fields ...string) {
		for index, field := range fields {
			fields[index] = strconv.QuoteToASCII(field)
		}
		fmt.Fprintln(out, strings.Join(fields, "\t"))
	})
}

func pick(random *rand.Rand, from ...string) string { return from[random.Intn(len(from))] }

func number(random *rand.Rand, longest int) string {
	var text strings.Builder
	for range random.Intn(longest + 1) {
		text.WriteString(pick(random, "0", "0", "0", "1", "2", "4", "5", "6", "8", "9"))
	}
	return text.String()
}

var suffixes = []string{"", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e3", "e-3", "E6", "e+9", "e0", "e21", "e-12", "e1", "e2", "e", "i", "K", "ee", "e3.", "x", "mi", "-3", "e4294967299"}

func quantity(random *rand.Rand) string {
	longest := []int{3, 6, 20, 30}[random.Intn(4)]
	text := pick(random, "", "", "", "-", "+") + number(random, longest)
	if random.Intn(2) == 0 {
		text += "." + number(random, longest/2)
	}
	return text + pick(random, suffixes...)
}

func quantities(random *rand.Rand, row func(...string)) {
	fixed := []string{"", "0", "-", "+", ".", "-.", "m", "Ki", "1.Ki", ".Ei", "1.500", "+5", "005", "1 ", " 1", "1e", "1e+5", "1-5",
		"1024Mi", "1000m", "0.1n", "0.00000000001", "9Ei", "-9Ei", "8Ei", "7Ei", "9223372036854775807", "9223372036854775808",
		"1000E", "1.1.1", "1Kii", "é", "1e9223372036854775808", "0.0000000001Ki", "1023", "1024", "-1024", "-1023Ki", "0x10"}
	for index := range 6000 {
		text := quantity(random)
		if index < len(fixed) {
			text = fixed[index]
		}
		parsed, err := resource.ParseQuantity(text)
		if err != nil {
			row(text, "error", err.Error())
			continue
		}
		row(text, "ok", parsed.String())
	}
}

func sums(random *rand.Rand, row func(...string)) {
	for count := 0; count < 2000; {
		first, second := quantity(random), quantity(random)
		left, errLeft := resource.ParseQuantity(first)
		right, errRight := resource.ParseQuantity(second)
		if errLeft != nil || errRight != nil {
			continue
		}
		count++
		sum, difference := left.DeepCopy(), left.DeepCopy()
		sum.Add(right)
		difference.Sub(right)
		row(first, second, sum.String(), difference.String(), strconv.Itoa(left.Cmp(right)))
	}
}

func durations(random *rand.Rand, row func(...string)) {
	for range 3000 {
		text := pick(random, "", "", "", "-", "+")
		for range 1 + random.Intn(3) {
			text += number(random, []int{2, 4, 20}[random.Intn(3)])
			if random.Intn(3) == 0 {
				text += "." + number(random, []int{2, 9, 22}[random.Intn(3)])
			}
			text += pick(random, "h", "m", "s", "ms", "us", "µs", "μs", "ns", "h", "m", "s", "d", "")
		}
		parsed, err := time.ParseDuration(text)
		if err != nil {
			row(text, "error", err.Error())
			continue
		}
		row(text, "ok", parsed.String())
	}
}

func times(random *rand.Rand, row func(...string)) {
	for range 1000 {
		text := fmt.Sprintf("%s-%s-%sT%s:%s:%s", pick(random, "2026", "0001", "1969", "9998", "26", "x"),
			pick(random, "01", "02", "12", "11", "13", "00", "1"), pick(random, "01", "28", "29", "30", "31", "32", "5"),
			pick(random, "00", "23", "5", "24", "12"), pick(random, "00", "59", "60", "07"), pick(random, "00", "59", "60", "09", "9"))
		text += pick(random, "", "", ".5", ".123456", ".1234567", ".123456789123", ",5", ".", ".000001")
		text += pick(random, "Z", "Z", "Z", "+01:30", "-23:59", "+24:00", "+25:00", "+01:61", "+0130", "", "Zz", "z", "é")
		if random.Intn(20) == 0 {
			text = text[:random.Intn(len(text))]
		}
		var seconds metav1.Time
		var micros metav1.MicroTime
		row(text, read(&seconds, text), read(&micros, text))
	}
}

type wireTime interface {
	UnmarshalJSON([]byte) error
	MarshalJSON() ([]byte, error)
}

func read(moment wireTime, text string) string {
	if err := moment.UnmarshalJSON([]byte(strconv.Quote(text))); err != nil {
		return "error: " + err.Error()
	}
	written, err := moment.MarshalJSON()
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.Trim(string(written), `"`)
}
