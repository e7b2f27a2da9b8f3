package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var interesting = []rune{0, 7, 8, 9, 10, 11, 12, 13, 27, ' ', '"', '\'', '\\', '<', '>', '&', '`', 0x7f, 0x80, 0x85, 0xa0, 0xad, 0x301, 0x378,
	0x600, 0x61c, 0x180e, 0x2000, 0x200b, 0x200d, 0x200e, 0x2028, 0x2029, 0x202e, 0x202f, 0x2060, 0x3000, 0xd7ff, 0xe000, 0xf8ff,
	0xfdd0, 0xfeff, 0xfff9, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x1f600, 0x1f1e6, 0xe0001, 0xe0100, 0xf0000, 0x10fffd, 0x10ffff}

func bytes(random *rand.Rand) []byte {
	var out []byte
	for range random.Intn(12) {
		switch random.Intn(8) {
		case 0, 1:
			out = append(out, byte(' '+random.Intn(95)))
		case 2:
			out = append(out, byte(random.Intn(0x30)))
		case 3:
			out = utf8.AppendRune(out, interesting[random.Intn(len(interesting))])
		case 4:
			out = utf8.AppendRune(out, rune(random.Intn(0x3000)))
		case 5:
			out = utf8.AppendRune(out, rune(random.Intn(0x110000)))
		case 6:
			// Single bytes, parts of sequences, and the surrogates that no UTF-8 has.
			surrogate := 0xd800 + random.Intn(0x800)
			out = append(out, pick(random, []byte{byte(0x80 + random.Intn(0x80))}, []byte{0xe2, 0x82}, []byte{0xf0, 0x9f, 0x98},
				[]byte{0xc0, 0x80}, []byte{0xed, byte(0x80 | surrogate>>6&0x3f), byte(0x80 | surrogate&0x3f)}, []byte{0xf4, 0x90, 0x80, 0x80})...)
		default:
			out = append(out, pick(random, "word", "a b", "é", "日本", "10", "-", "1m")...)
		}
	}
	return out
}

// Any bytes: strconv.Quote, %q of a list with them, the quotes of package time, and JSON.
func quote(random *rand.Rand) []any {
	text := bytes(random)
	_, err := time.ParseDuration("x" + string(text))
	encoded, failure := json.Marshal(string(text))
	check(failure)
	return []any{hex.EncodeToString(text), hex.EncodeToString([]byte(strconv.Quote(string(text)))),
		hex.EncodeToString([]byte(strings.TrimPrefix(err.Error(), "time: invalid duration "))), hex.EncodeToString(encoded)}
}

func number(random *rand.Rand) float64 {
	switch random.Intn(6) {
	case 0:
		return math.Float64frombits(random.Uint64())
	case 1:
		return float64(random.Intn(1<<20)) * math.Pow(10, float64(random.Intn(40)-20))
	case 2:
		edge := pick(random, 1e-7, 1e-6, 1e-5, 1e-4, 1e5, 1e6, 1e7, 1e15, 1e16, 1e17, 1e20, 1e21, 1e22, 1<<24, 1<<53, 1<<63, 0)
		steps := random.Intn(5) - 2
		for range max(steps, -steps) {
			edge = math.Nextafter(edge, math.Inf(steps))
		}
		return edge
	case 3:
		return float64(int64(random.Uint64()))
	case 4:
		text := fmt.Sprintf("%d.%de%d", random.Intn(1000), random.Intn(1000), random.Intn(30)-15)
		parsed, err := strconv.ParseFloat(text, 64)
		check(err)
		return parsed
	default:
		return pick(random, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0, math.MaxFloat64, math.SmallestNonzeroFloat64,
			0.1, 0.3, 1.5, 100, 123456, 1234567, -2.5e-7, math.MaxFloat32, 5e-324, 2.2250738585072014e-308)
	}
}

// The bits of a float: 'g', 'f' and 'e' with as few digits as needed, 'g' of the float of 32 bits, 'f' and 'e' with three digits,
// %v, JSON, and what go-yaml writes (which kyaml's yaml does not export for a float alone, so 'g' with its names of infinity).
func float(random *rand.Rand) []any {
	value := number(random)
	if random.Intn(2) == 0 {
		value = -value
	}
	encoded := ""
	if text, err := json.Marshal(value); err == nil {
		encoded = string(text)
	}
	format := func(verb byte, precision, size int) string { return strconv.FormatFloat(value, verb, precision, size) }
	return []any{fmt.Sprintf("%016x", math.Float64bits(value)), format('g', -1, 64), format('f', -1, 64), format('e', -1, 64),
		format('g', -1, 32), format('f', 3, 64), format('e', 3, 64), fmt.Sprintf("%v", value), encoded}
}

func object(random *rand.Rand, depth int) any {
	switch kind := random.Intn(8); {
	case kind == 0:
		return nil
	case kind == 1:
		return random.Intn(2) == 0
	case kind == 2:
		return random.Int63n(2_000_000) - 1_000_000
	case kind == 3:
		if value := number(random); !math.IsInf(value, 0) && !math.IsNaN(value) {
			return value
		}
		return 0.5
	case kind < 6 && depth > 0:
		fields := map[string]any{}
		for range random.Intn(4) {
			fields[strings.ToValidUTF8(string(bytes(random)), "")] = object(random, depth-1)
		}
		return fields
	case kind == 6 && depth > 0:
		items := []any{}
		for range random.Intn(4) {
			items = append(items, object(random, depth-1))
		}
		return items
	default:
		return strings.ToValidUTF8(string(bytes(random)), "?")
	}
}

// A value of JSON as json.Marshal writes it, with %v and, in a list, with %#v. Whole floats are written with a point for the reader.
func value(random *rand.Rand) []any {
	value := object(random, 3)
	encoded, err := json.Marshal(value)
	check(err)
	return []any{exact(value), string(encoded), fmt.Sprintf("%v", value), fmt.Sprintf("%#v", []any{value})}
}

// exact is JSON in which a float cannot be taken for an integer.
func exact(value any) string {
	switch value := value.(type) {
	case float64:
		return strconv.FormatFloat(value, 'e', -1, 64)
	case map[string]any:
		var parts []string
		for name, field := range value {
			quoted, err := json.Marshal(name)
			check(err)
			parts = append(parts, string(quoted)+":"+exact(field))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, item := range value {
			parts = append(parts, exact(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		encoded, err := json.Marshal(value)
		check(err)
		return string(encoded)
	}
}
