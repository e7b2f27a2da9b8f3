package smd

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// step is a request to a real server.
type step struct {
	Method      string          `json:"method"`
	Path        string          `json:"path"`
	Subresource string          `json:"subresource,omitempty"`
	Manager     string          `json:"manager"`
	Force       bool            `json:"force,omitempty"`
	Type        string          `json:"type,omitempty"`
	Body        json.RawMessage `json:"body"`

	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Before     json.RawMessage `json:"before"`
	Code       int             `json:"code"`
	After      json.RawMessage `json:"after"`
	// Fields are the fieldsV1 of the answer's entries, byte for byte.
	Fields []string `json:"fields,omitempty"`
}

type server struct {
	address string
	client  *http.Client
}

func (s server) ask(method, path, contentType string, body []byte) (int, []byte) {
	request, err := http.NewRequest(method, s.address+path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer admin-token")
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, bytes.TrimSpace(text)
}

func (s server) take(next *step) {
	target := next.Path
	if next.Method == "POST" {
		target = next.Path[:strings.LastIndex(next.Path, "/")]
	}
	if code, text := s.ask("GET", next.Path, "", nil); code == 200 {
		next.Before = text
	}
	if next.Subresource != "" {
		target += "/" + next.Subresource
	}
	target += "?fieldManager=" + next.Manager
	if next.Force {
		target += "&force=true"
	}
	contentType := map[string]string{
		"": "application/json", "apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json",
		"strategic": "application/strategic-merge-patch+json", "json": "application/json-patch+json",
	}[next.Type]
	for range 100 {
		next.Code, next.After = s.ask(next.Method, target, contentType, next.Body)
		// A new custom resource takes a moment to be served.
		if next.Code != 404 || next.Type != "apply" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if next.Code < 300 && next.Subresource == "scale" {
		_, next.After = s.ask("GET", next.Path, "", nil)
	}
	var parsed struct {
		Metadata struct {
			ManagedFields []struct {
				FieldsV1 json.RawMessage `json:"fieldsV1"`
			} `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(next.After, &parsed); err != nil {
		panic(fmt.Sprintf("%s: %s", err, next.After))
	}
	for _, entry := range parsed.Metadata.ManagedFields {
		next.Fields = append(next.Fields, string(entry.FieldsV1))
	}
}

// TestServer records the steps of steps.json as a server at SERVER answers them, to OUT.
func TestServer(t *testing.T) {
	address, path := os.Getenv("SERVER"), os.Getenv("OUT")
	if address == "" || path == "" {
		t.Skip("SERVER and OUT name the server and the file to record to")
	}
	s := server{address, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	var steps []*step
	text, err := os.ReadFile("steps.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &steps); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	packed, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	encoder := json.NewEncoder(packed)
	for i, next := range steps {
		// Some writes share a second, some do not.
		time.Sleep(time.Duration(i%3) * 400 * time.Millisecond)
		s.take(next)
		t.Logf("%d %s %s %s: %d", i, next.Method, next.Path, next.Type, next.Code)
		if next.Code >= 400 && next.Code != 409 {
			t.Logf("%s", next.After)
		}
		if err := encoder.Encode(next); err != nil {
			t.Fatal(err)
		}
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
