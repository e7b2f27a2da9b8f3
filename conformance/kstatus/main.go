// Command kstatus records how upstream reads the status of generated objects.
package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math/rand"
	"os"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

type reading struct {
	Status    string            `json:"status,omitempty"`
	Message   string            `json:"message,omitempty"`
	Condition *status.Condition `json:"condition,omitempty"`
	Error     string            `json:"error,omitempty"`
}

type recorded struct {
	Object  any     `json:"object"`
	Reading reading `json:"reading"`
	Job     reading `json:"job"`
}

func read(result status.Result) reading {
	out := reading{Status: string(result.Status), Message: result.Message}
	if len(result.Conditions) > 0 {
		out.Condition = &result.Conditions[0]
	}
	return out
}

func answer(object map[string]any) recorded {
	u := &unstructured.Unstructured{Object: object}
	out := recorded{Object: object}
	if result, err := status.Compute(u); err != nil {
		out.Reading.Error = err.Error()
	} else {
		out.Reading = read(*result)
	}
	out.Job = read(statusreaders.ComputeJobStatus(u))
	return out
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: kstatus COUNT SEED FILE")
		os.Exit(2)
	}
	count, err := strconv.Atoi(os.Args[1])
	check(err)
	seed, err := strconv.ParseInt(os.Args[2], 10, 64)
	check(err)
	file, err := os.Create(os.Args[3])
	check(err)
	packed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	check(err)
	out := bufio.NewWriter(packed)
	g := &generator{rand.New(rand.NewSource(seed))}
	for range count {
		// Through JSON and back, so that numbers are what a client would read.
		text, err := json.Marshal(g.object())
		check(err)
		var object map[string]any
		check(json.Unmarshal(text, &object))
		line, err := json.Marshal(answer(object))
		check(err)
		_, err = out.Write(append(line, '\n'))
		check(err)
	}
	check(out.Flush())
	check(packed.Close())
	check(file.Close())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
