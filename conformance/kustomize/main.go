// Command kustomize is the original, asked in bulk: it takes builds out of the original's own tests, and
// answers builds that it is handed. All input is read from the Go modules pinned in go.mod when it runs.
//
//	cases [-plugins DIR] [-o FILE]   the builds of the tests with their answers, one JSON object a line
//	serve                            builds on stdin, answers on stdout, one JSON object a line
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
)

func main() {
	log.SetOutput(io.Discard)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("one of: cases, serve")
	}
	switch arguments[0] {
	case "cases":
		flags := flag.NewFlagSet("cases", flag.ExitOnError)
		output := flags.String("o", "/dev/stdout", "the file to write")
		plugins := flags.String("plugins", "", "the folder plugin/builtin of a checkout of kustomize at api/v0.21.1, whose tests are read as text")
		if err := flags.Parse(arguments[1:]); err != nil {
			return err
		}
		return writeCases(*output, *plugins)
	case "serve":
		defer stayOffline()()
		return serve(os.Stdin, os.Stdout)
	}
	return fmt.Errorf("%q is neither cases nor serve", arguments[0])
}

func serve(requests io.Reader, answers io.Writer) error {
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	return readLines(requests, func(request Request) error { return encoder.Encode(build(request)) })
}

func writeCases(output, plugins string) error {
	cases, err := krustyCases()
	if err != nil {
		return err
	}
	merges, err := mergeCases()
	if err != nil {
		return err
	}
	cases = append(cases, merges...)
	if plugins != "" {
		more, err := pluginCases(plugins)
		if err != nil {
			return err
		}
		cases = append(cases, more...)
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	write, flush := writeLines(file)
	for _, one := range cases {
		if err := write(one); err != nil {
			return err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	summarise(cases)
	return file.Close()
}

func summarise(cases []Case) {
	type count struct{ all, fine, failed, out int }
	counts := map[string]*count{}
	reasons := map[string]int{}
	for _, one := range cases {
		sum := counts[one.Suite]
		if sum == nil {
			sum = &count{}
			counts[one.Suite] = sum
		}
		sum.all++
		switch {
		case one.Out != "":
			sum.out++
			reasons[one.Suite+": "+one.Out]++
		case one.Answer.OK:
			sum.fine++
		default:
			sum.failed++
		}
	}
	for _, suite := range []string{"krusty", "merge2", "plugins"} {
		if sum := counts[suite]; sum != nil {
			fmt.Fprintf(os.Stderr, "%-8s %4d builds: %d succeed, %d fail, %d out of scope\n", suite, sum.all, sum.fine, sum.failed, sum.out)
		}
	}
	for reason, number := range reasons {
		fmt.Fprintf(os.Stderr, "%4d %s\n", number, reason)
	}
}
