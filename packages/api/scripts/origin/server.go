package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

var (
	priorityLine = regexp.MustCompile(`\{Group: "([^"]*)", Version: "([^"]*)"\}:\s*\{Group: (\d+), Version: (\d+)\}`)
	groupName    = regexp.MustCompile(`(?m)^const GroupName = "([^"]*)"`)
	knownTypes   = regexp.MustCompile(`(?s)AddKnownTypes\(SchemeGroupVersion,(.*?)\n\t\)`)
	urlLine      = regexp.MustCompile(`atom\.(\w+):\s*sets\.NewString\((.*)\)`)
	typeName     = regexp.MustCompile(`&(\w+)\{\}`)
)

// priorities gives the priorities of APIServices by group and version; those of the second file count.
func priorities() object {
	made := object{}
	for _, file := range []string{
		"pkg/controlplane/apiserver/aggregator.go",
		"cmd/kube-apiserver/app/aggregator.go",
	} {
		data, err := os.ReadFile(filepath.Join(moduleDir(kubernetesModule), file))
		if err != nil {
			fail("%v", err)
		}
		for _, found := range priorityLine.FindAllStringSubmatch(string(data), -1) {
			group, _ := strconv.Atoi(found[3])
			version, _ := strconv.Atoi(found[4])
			made.set(found[1]+"/"+found[2], []any{group, version})
		}
	}
	return made
}

// urlAttributes gives the attributes of HTML that hold a URL, with the tags that have them.
func urlAttributes() object {
	file := filepath.Join(moduleDir("k8s.io/apimachinery@"+newest.version), "pkg/util/proxy/transport.go")
	data, err := os.ReadFile(file)
	if err != nil {
		fail("%v", err)
	}
	made := object{}
	for _, found := range urlLine.FindAllStringSubmatch(string(data), -1) {
		for _, quoted := range strings.Split(found[2], ", ") {
			attribute, _ := strconv.Unquote(quoted)
			tags, _ := made.get(attribute).([]any)
			made.set(attribute, append(tags, strings.ToLower(found[1])))
		}
	}
	return made
}

// registeredKinds gives the kinds that kube-apiserver can decode and the tables lack, by apiVersion. `kinds`: of the tables.
func registeredKinds(kinds map[string]bool) object {
	installed, err := os.ReadFile(filepath.Join(moduleDir(kubernetesModule), "pkg/controlplane/import_known_versions.go"))
	if err != nil {
		fail("%v", err)
	}
	found := map[string][]string{}
	files, _ := filepath.Glob(filepath.Join(moduleDir("k8s.io/api@"+newest.version), "*/*/register.go"))
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(filepath.Dir(file)))
		if !strings.Contains(string(installed), "/pkg/apis/"+folder+"/install\"") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			fail("%v", err)
		}
		group := groupName.FindStringSubmatch(string(data))
		if group == nil {
			fail("%s has no GroupName", file)
		}
		apiVersion := filepath.Base(filepath.Dir(file))
		if group[1] != "" {
			apiVersion = group[1] + "/" + apiVersion
		}
		for _, call := range knownTypes.FindAllStringSubmatch(string(data), -1) {
			for _, name := range typeName.FindAllStringSubmatch(call[1], -1) {
				isList := strings.HasSuffix(name[1], "List") && name[1] != "List"
				if !isList && !kinds[apiVersion+" "+name[1]] {
					found[apiVersion] = append(found[apiVersion], name[1])
				}
			}
		}
	}
	made := object{}
	for _, apiVersion := range sortedKeys(found) {
		slices.Sort(found[apiVersion])
		made = append(made, member{apiVersion, strings.Join(slices.Compact(found[apiVersion]), " ")})
	}
	return made
}

func sortedKeys[V any](from map[string]V) []string {
	keys := make([]string, 0, len(from))
	for key := range from {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
