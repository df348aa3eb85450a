package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The upstream modules of each Kubernetes release that the tables describe, oldest first.
var releases = []struct{ name, version string }{
	{"1.34", "v0.34.10"},
	{"1.35", "v0.35.4"},
	{"1.36", "v0.36.3"},
	{"1.37", "v0.37.2"},
}

// The releases of kubernetes that go with them.
var kubernetesReleases = []string{"v1.34.10", "v1.35.4", "v1.36.3", "v1.37.1"}

// Modules of which only the newest release is read.
const (
	kubernetesModule = "k8s.io/kubernetes@v1.37.1"
	apiserverModule  = "k8s.io/apiserver@v0.37.1"
	metricsModule    = "k8s.io/metrics@v0.37.1"
)

var newest = releases[len(releases)-1]

var moduleCache = func() string {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		fail("go env GOMODCACHE: %v", err)
	}
	return strings.TrimSpace(string(out))
}()

// moduleDir is the folder of a module (k8s.io/api@v0.37.2) in the module cache.
func moduleDir(module string) string {
	dir := filepath.Join(moduleCache, module)
	if _, err := os.Stat(dir); err != nil {
		fail("%s is not in the module cache: run `go mod download %s`", module, module)
	}
	return dir
}

// packageDir is the folder of the Go package of a group and version (core/v1) in a release; empty if the release lacks it.
func packageDir(group, version, release string) string {
	var dir string
	switch group {
	case "meta":
		dir = filepath.Join(moduleDir("k8s.io/apimachinery@"+release), "pkg/apis/meta", version)
	case "apiextensions":
		dir = filepath.Join(moduleDir("k8s.io/apiextensions-apiserver@"+newest.version), "pkg/apis/apiextensions", version)
	case "apiregistration":
		dir = filepath.Join(moduleDir("k8s.io/kube-aggregator@"+newest.version), "pkg/apis/apiregistration", version)
	case "metrics":
		dir = filepath.Join(moduleDir(metricsModule), "pkg/apis/metrics", version)
	default:
		dir = filepath.Join(moduleDir("k8s.io/api@"+release), group, version)
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "origin: "+format+"\n", args...)
	os.Exit(1)
}
