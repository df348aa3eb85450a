package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var lifecycle = regexp.MustCompile(`func \(in \*(\w+)\) APILifecycle(Deprecated|Removed)\(\) \(major, minor int\) \{\s*return (\d+), (\d+)`)

// lifecycleProblems compares the deprecations of a file with the lifecycles of the newest release that has the version. The
// file has since and gone by "apps/v1 Deployment", of all kinds that are served. Kinds of v1 are left out: their types say it
// in comments.
func lifecycleProblems(file string) (problems []string) {
	data, err := os.ReadFile(file)
	if err != nil {
		fail("%v", err)
	}
	for _, each := range read(data).(object) {
		apiVersion, kind, _ := strings.Cut(each.key, " ")
		upstream, known := lifecycles(apiVersion)[kind]
		if !known {
			continue
		}
		entry := each.value.(object)
		has := fmt.Sprintf("since %v gone %v", entry.get("since"), entry.get("gone"))
		if has != upstream && !(entry.get("since") == nil && isFuture(upstream)) {
			problems = append(problems, fmt.Sprintf("%s: is %s, should be %s", each.key, has, upstream))
		}
	}
	return problems
}

// isFuture reports whether a version is deprecated only after the newest release.
func isFuture(lifecycle string) bool {
	var since, newest int
	fmt.Sscanf(lifecycle, "since 1.%d", &since)
	fmt.Sscanf(releases[len(releases)-1].version, "v0.%d", &newest)
	return since > newest
}

// lifecycles gives the releases in which kinds of a version are deprecated and removed.
func lifecycles(apiVersion string) map[string]string {
	group, version, _ := strings.Cut(apiVersion, "/")
	folder := strings.Split(group, ".")[0]
	for i := len(releases) - 1; i >= 0; i-- {
		file := filepath.Join(moduleDir("k8s.io/api@"+releases[i].version), folder, version, "zz_generated.prerelease-lifecycle.go")
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		spans := map[string]map[string]string{}
		for _, found := range lifecycle.FindAllStringSubmatch(string(data), -1) {
			if spans[found[1]] == nil {
				spans[found[1]] = map[string]string{}
			}
			spans[found[1]][found[2]] = found[3] + "." + found[4]
		}
		made := map[string]string{}
		for name, span := range spans {
			made[name] = fmt.Sprintf("since %v gone %v", orNil(span["Deprecated"]), orNil(span["Removed"]))
		}
		return made
	}
	return nil
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}
