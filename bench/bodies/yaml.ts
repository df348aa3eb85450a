import {
  type Case,
  create,
  defined,
  full,
  maps,
  most,
  things,
  yaml,
  yamlLines,
  yamlMap,
  yamlOf,
} from "./requests.ts";

/** Objects in YAML. */
export const yamlBodies: Readonly<Record<string, () => Case>> = {
  "YAML, keys": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: v`),
      ),
      yaml,
    ),
  "YAML, 1 MiB of keys": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: v`, full),
      ),
      yaml,
    ),
  "YAML, anchors": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: &a${index} v`),
      ),
      yaml,
    ),
  "YAML, aliases": () =>
    create(maps, yamlMap("data", ["  k: &a v", ...yamlLines((index) => `  k${index}: *a`)]), yaml),
  "YAML, flow": () =>
    create(maps, yamlMap("data", [` {${yamlLines((index) => `k${index}: v`).join(",")}}`]), yaml),
  "YAML, quoted": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  "k${index}": 'v'`),
      ),
      yaml,
    ),
  "YAML, comments": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines(() => "# a"),
      ),
      yaml,
    ),
  "YAML, literal block": () => create(maps, yamlMap("data", ["  k: |", ...yamlLines(() => "    a")]), yaml),
  "YAML, folded text": () => create(maps, yamlMap("data", ["  k: a", ...yamlLines(() => "    a")]), yaml),
  "YAML, merge keys": () =>
    create(maps, yamlMap("data", ["  k: &a {a: b}", ...yamlLines((index) => `  k${index}: {<<: *a}`)]), yaml),
  "YAML, repeated keys": () =>
    create(
      maps,
      yamlMap(
        "data",
        yamlLines(() => "  k: v"),
      ),
      yaml,
    ),
  "YAML, empty flow lists": () => create(maps, `[${"[],".repeat(most / 3)}]`, yaml),
  "YAML, open flow lists": () => create(maps, "[".repeat(most), yaml),
  "YAML, custom, list": () =>
    create(
      things,
      yamlOf([
        "apiVersion: example.com/v1",
        "kind: Thing",
        "metadata: {name: o}",
        "list:",
        ...yamlLines(() => "- name: a"),
      ]),
      yaml,
      defined,
    ),
};
