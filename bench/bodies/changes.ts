import {
  applied,
  type Case,
  change,
  configMap,
  container,
  deployment,
  deployments,
  full,
  items,
  jsonPatch,
  map,
  maps,
  merge,
  most,
  namespace,
  pod,
  strategic,
  text,
  variable,
  wide,
  yamlLines,
  yamlMap,
} from "./requests.ts";

/** Updates, patches and applies. */
export const changeBodies: Readonly<Record<string, () => Case>> = {
  "PUT of keys": () =>
    change(maps, configMap({ data: wide(100) }), "PUT", configMap({ data: map(() => text) })),
  "PUT of 1 MiB of keys on as many": () =>
    change(
      maps,
      configMap({ data: map(() => text, full) }),
      "PUT",
      configMap({ data: map(() => "w", full) }),
    ),
  "JSON patch, operations": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      "PATCH",
      items((index) => ({ op: "add", path: `/data/n${index}`, value: "v" })),
      jsonPatch,
    ),
  "JSON patch, 10,000 operations": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      "PATCH",
      items((index) => ({ op: "add", path: `/data/n${index}`, value: "v" })).slice(0, 9_999),
      jsonPatch,
    ),
  "JSON patch, one large value": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      "PATCH",
      [{ op: "add", path: "/data", value: map(() => text) }],
      jsonPatch,
    ),
  "merge patch, keys": () =>
    change(maps, configMap({ data: wide(100) }), "PATCH", { data: map(() => text) }, merge),
  "merge patch, nulls": () =>
    change(maps, configMap({ data: wide(100) }), "PATCH", { data: map(() => null) }, merge),
  "merge patch, one key of 1 MiB": () =>
    change(maps, configMap({ data: map(() => text, full) }), "PATCH", { data: { k1: "w" } }, merge),
  "strategic patch, keys": () =>
    change(maps, configMap({ data: wide(100) }), "PATCH", { data: map(() => text) }, strategic),
  "strategic patch, containers": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      "PATCH",
      { spec: { template: { spec: { containers: items(container) } } } },
      strategic,
    ),
  "strategic patch, deletions": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      "PATCH",
      {
        spec: {
          template: { spec: { containers: items((index) => ({ $patch: "delete", name: `c${index}` })) } },
        },
      },
      strategic,
    ),
  "strategic patch, variables in order": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      "PATCH",
      {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: "c",
                  env: items(variable, most / 2),
                  "$setElementOrder/env": items((index) => ({ name: `E${index}` }), most / 2),
                },
              ],
            },
          },
        },
      },
      strategic,
    ),
  "strategic patch, finalizers": () =>
    change(
      maps,
      configMap({}),
      "PATCH",
      { metadata: { finalizers: items((index) => `a/b${index}`) } },
      strategic,
    ),
  "apply, keys": () => applied(maps, configMap({ data: map(() => text) })),
  "apply, 1 MiB of keys": () => applied(maps, configMap({ data: map(() => text, full) })),
  "apply, keys on as many": () =>
    applied(maps, configMap({ data: map(() => "w", full) }), configMap({ data: map(() => text, full) })),
  "apply, one key of 1 MiB": () =>
    applied(maps, configMap({ data: { k1: "w" } }), configMap({ data: map(() => text, full) })),
  "apply, variables": () =>
    applied(`${namespace}/pods`, pod({ containers: [{ name: "c", image: "i", env: items(variable) }] })),
  "apply, YAML, keys": () =>
    applied(
      maps,
      yamlMap(
        "data",
        yamlLines((index) => `  k${index}: v`),
      ),
    ),
};
