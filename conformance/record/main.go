// Command record asks the oracles: a real Kubernetes API server, and the Go types and libraries it is made of.
// Everything it prints is JSON on standard output; `cargo xtask record` reduces and stores it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: record cluster SERVER TOKEN | types | decode | protobuf | patch"))
	}
	var answer any
	var err error
	switch os.Args[1] {
	case "cluster":
		if len(os.Args) != 4 {
			fail(fmt.Errorf("usage: record cluster SERVER TOKEN"))
		}
		answer, err = recordCluster(os.Args[2], os.Args[3])
	case "types":
		answer, err = recordTypes()
	case "decode":
		answer, err = recordDecode(28)
	case "protobuf":
		answer, err = recordProtobuf(8)
	case "patch":
		answer, err = recordPatches()
	default:
		err = fmt.Errorf("unknown subject %q", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "record:", err)
	os.Exit(1)
}
