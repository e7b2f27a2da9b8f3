// Clones repositories with fluxcd/pkg/git (go-git) by every form of reference and prints what came of it: one
// JSON object per line. The test in crates/source makes the repositories, serves them and records the lines:
//
//	go build -o FILE . && SLUICE_GO_GIT=FILE cargo test -p sluice-source --test source go_git
package main

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/fluxcd/pkg/git"
	"github.com/fluxcd/pkg/git/gogit"
	"github.com/fluxcd/pkg/git/repository"
)

// An Answer is what came of one reference.
type Answer struct {
	Reference repository.CheckoutStrategy
	Error     string
	Empty     bool
	Revision  string
	Absolute  string
	Tag       string
}

func main() {
	u, _ := url.Parse(os.Args[1])
	first, aside := os.Args[2], os.Args[3]
	auth, err := git.NewAuthOptions(*u, nil)
	if err != nil {
		panic(err)
	}
	cases := []repository.CheckoutStrategy{
		{Branch: "main"}, {Branch: "feature/x"}, {Tag: "v1.0.0"}, {Tag: "v1.1.0"}, {SemVer: "~1.0"}, {SemVer: ">=1.0.0"},
		{RefName: "refs/heads/main"}, {RefName: "refs/tags/v1.1.0"}, {RefName: "refs/tags/v1.1.0^{}"}, {RefName: "refs/pull/7/head"},
		{Commit: first}, {Commit: first, Branch: "main"}, {Tag: "v1.0.0", SemVer: "*"}, {Tag: "v1.0.0", RefName: "refs/heads/main"},
		{Branch: "nope"}, {Tag: "nope"}, {SemVer: ">9"}, {SemVer: "nonsense"}, {RefName: "refs/heads/nope"}, {RefName: "/refs"},
		{Commit: aside, Branch: "main"}, {Commit: "abc"}, {},
	}
	for _, c := range cases {
		dir, _ := os.MkdirTemp("", "source-gogit")
		client, err := gogit.NewClient(dir, auth, gogit.WithDiskStorage(), gogit.WithInsecureCredentialsOverHTTP())
		if err != nil {
			panic(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		commit, err := client.Clone(ctx, os.Args[1], repository.CloneConfig{CheckoutStrategy: c, ShallowClone: true})
		cancel()
		os.RemoveAll(dir)
		answer := Answer{Reference: c}
		switch {
		case err != nil:
			answer.Error = strings.ReplaceAll(err.Error(), os.Args[1], "{url}")
		case commit == nil:
			answer.Empty = true
		default:
			answer.Revision = commit.String()
			answer.Absolute = commit.AbsoluteReference()
			if commit.ReferencingTag != nil {
				answer.Tag = commit.ReferencingTag.String()
			}
		}
		if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
			panic(err)
		}
	}
}
