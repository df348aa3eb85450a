package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var lifecycle = regexp.MustCompile(`func \(in \*(\w+)\) APILifecycle(Deprecated|Removed)\(\) \(major, minor int\) \{\s*return (\d+), (\d+)`)

// lifecycleProblems compares apiserver's kinds/deprecations.json with the lifecycles of the newest release that has the
// version. Of a whole version the kinds that the tables have count. Kinds of v1 have none: their types say it in comments.
func lifecycleProblems(kinds map[string]bool) (problems []string) {
	data, err := os.ReadFile(server + "/kinds/deprecations.json")
	if err != nil {
		fail("%v", err)
	}
	for _, each := range read(data).(object) {
		parts := strings.Split(each.key, "/")
		entry := each.value.(object)
		var apiVersion, kind string
		switch {
		case parts[0] == "v1":
			continue
		case len(parts) == 3:
			apiVersion, kind = parts[0]+"/"+parts[1], parts[2]
		default:
			apiVersion = each.key
		}
		except, _ := entry.get("except").([]any)
		found := lifecycles(apiVersion)
		if len(found) == 0 {
			problems = append(problems, fmt.Sprintf("%s: no release has a lifecycle of it", each.key))
		}
		for _, name := range sortedKeys(found) {
			if (kind != "" && name != kind) || slices.Contains(except, any(name)) || !kinds[apiVersion+" "+name] {
				continue
			}
			has := fmt.Sprintf("since %v gone %v", entry.get("since"), entry.get("gone"))
			if has != found[name] {
				problems = append(problems, fmt.Sprintf("%s %s: is %s, should be %s", each.key, name, has, found[name]))
			}
		}
	}
	return problems
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
