package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// recorded is one line of a recording.
type recorded struct {
	Question question `json:"question"`
	Answer   answer   `json:"answer"`
}

// questions reads a file of cases: a line is an expression, a line that begins with @ sets what
// the following ones are asked with (mode, schema, self, oldSelf, vars, structs, root, limit), and
// #-lines are remarks. "@ask" asks with no expression; "@reset" forgets everything.
func questions(path string) ([]question, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var asked []question
	current := question{Mode: "expr"}
	in := bufio.NewScanner(file)
	in.Buffer(make([]byte, 1<<20), 16<<20)
	number := 0
	for in.Scan() {
		number++
		line := in.Text()
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "@"):
			word, rest, _ := strings.Cut(line[1:], " ")
			if err := set(&current, word, rest); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, number, err)
			}
			if word == "ask" {
				q := current
				q.Rule = ""
				asked = append(asked, q)
			}
		default:
			q := current
			// Escapes let a case hold line ends and what no editor shows.
			if strings.HasPrefix(line, "\"") && strings.HasSuffix(line, "\"json") {
				if err := json.Unmarshal([]byte(strings.TrimSuffix(line, "json")), &q.Rule); err != nil {
					return nil, fmt.Errorf("%s:%d: %w", path, number, err)
				}
			} else {
				q.Rule = line
			}
			asked = append(asked, q)
		}
	}
	return asked, in.Err()
}

func set(q *question, word, rest string) error {
	switch word {
	case "reset":
		*q = question{Mode: "expr"}
	case "mode":
		q.Mode = strings.TrimSpace(rest)
	case "ask":
	case "root":
		q.Root = strings.TrimSpace(rest) == "true"
	case "limit":
		_, err := fmt.Sscan(rest, &q.Limit)
		return err
	case "structs":
		q.Structs = strings.Fields(rest)
	case "schema", "self", "oldSelf", "vars":
		var value any
		if strings.TrimSpace(rest) != "" {
			if err := json.Unmarshal([]byte(rest), &value); err != nil {
				return err
			}
		}
		switch word {
		case "schema":
			q.Schema = value
		case "self":
			q.Self = value
		case "oldSelf":
			q.OldSelf = value
		case "vars":
			q.Vars = value
		}
	default:
		return fmt.Errorf("unknown setting %q", word)
	}
	return nil
}

// record asks the questions of all files, or those that are generated, and writes them with their
// answers.
func record(out string, paths []string) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	packed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	count := 0
	for _, path := range paths {
		var asked []question
		if path == "generated" {
			asked = generate()
		} else if asked, err = questions(path); err != nil {
			return err
		}
		for _, q := range asked {
			a := reply(q)
			// Where Go's type assertions fail, there is nothing to agree with.
			if path == "generated" && (strings.HasPrefix(a.Error, "internal error:") || strings.HasPrefix(a.Error, "panic:")) {
				continue
			}
			line, err := json.Marshal(recorded{q, a})
			if err != nil {
				return err
			}
			packed.Write(append(line, '\n'))
			count++
		}
	}
	fmt.Fprintf(os.Stderr, "%d questions recorded\n", count)
	if err := packed.Close(); err != nil {
		return err
	}
	return file.Close()
}
