package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// What a fresh cluster holds before anybody used it. ConfigMaps, ServiceAccounts and Leases are left out: they carry
// certificates and identities, and controllers make them anew.
var bootstrapLists = []string{
	"/api/v1/namespaces",
	"/api/v1/services",
	"/api/v1/endpoints",
	"/apis/apiregistration.k8s.io/v1/apiservices",
	"/apis/discovery.k8s.io/v1/endpointslices",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
	"/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
	"/apis/networking.k8s.io/v1/ipaddresses",
	"/apis/networking.k8s.io/v1/servicecidrs",
	"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	"/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"/apis/rbac.authorization.k8s.io/v1/rolebindings",
	"/apis/rbac.authorization.k8s.io/v1/roles",
	"/apis/scheduling.k8s.io/v1/priorityclasses",
}

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

type cluster struct {
	server, token string
	client        *http.Client
}

func recordCluster(server, token string) (any, error) {
	c := cluster{server, token, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
	version, err := c.get("/version", "application/json")
	if err != nil {
		return nil, err
	}
	index, err := c.get("/openapi/v3", "application/json")
	if err != nil {
		return nil, err
	}
	documents := map[string]any{}
	urls := map[string]any{}
	for path, entry := range index["paths"].(map[string]any) {
		url := entry.(map[string]any)["serverRelativeURL"].(string)
		if documents[path], err = c.get(url, "application/json"); err != nil {
			return nil, err
		}
		urls[path] = url
	}
	discovery := map[string]any{}
	for _, root := range []string{"/api", "/apis"} {
		if discovery[root], err = c.get(root, aggregated); err != nil {
			return nil, err
		}
	}
	// The lists of before aggregated discovery carry one thing more: storageVersionHash.
	legacy := map[string]any{}
	for _, root := range []string{"/api", "/apis"} {
		for _, group := range discovery[root].(map[string]any)["items"].([]any) {
			for _, version := range group.(map[string]any)["versions"].([]any) {
				path := root + "/" + version.(map[string]any)["version"].(string)
				if root == "/apis" {
					name := group.(map[string]any)["metadata"].(map[string]any)["name"].(string)
					path = root + "/" + name + "/" + version.(map[string]any)["version"].(string)
				}
				if legacy[path], err = c.get(path, "application/json"); err != nil {
					return nil, err
				}
			}
		}
	}
	bootstrap := map[string]any{}
	for _, path := range bootstrapLists {
		if bootstrap[path], err = c.get(path, "application/json"); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"version": version, "openapi": documents, "urls": urls, "discovery": discovery, "legacy": legacy, "bootstrap": bootstrap,
	}, nil
}

func (c cluster) get(path, accept string) (map[string]any, error) {
	request, err := http.NewRequest(http.MethodGet, c.server+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", accept)
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %s", path, response.Status, body)
	}
	var value map[string]any
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return value, nil
}
