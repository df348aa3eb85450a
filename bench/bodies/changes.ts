import {
  applied,
  type Case,
  change,
  configMap,
  container,
  deployment,
  deployments,
  full,
  half,
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
    change(maps, configMap({ data: wide(100) }), { method: "PUT" }, configMap({ data: map(() => text) })),
  "PUT of 1 MiB of keys on half as many": () =>
    change(
      maps,
      configMap({ data: map(() => text, half) }),
      { method: "PUT" },
      configMap({ data: map(() => "w", full) }),
    ),
  "JSON patch, operations": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      { method: "PATCH", type: jsonPatch },
      items((index) => ({ op: "add", path: `/data/n${index}`, value: "v" })),
    ),
  "JSON patch, 10,000 operations": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      { method: "PATCH", type: jsonPatch },
      items((index) => ({ op: "add", path: `/data/n${index}`, value: "v" })).slice(0, 9_999),
    ),
  "JSON patch, one large value": () =>
    change(maps, configMap({ data: wide(100) }), { method: "PATCH", type: jsonPatch }, [
      { op: "add", path: "/data", value: map(() => text) },
    ]),
  "merge patch, keys": () =>
    change(maps, configMap({ data: wide(100) }), { method: "PATCH", type: merge }, { data: map(() => text) }),
  "merge patch, nulls": () =>
    change(maps, configMap({ data: wide(100) }), { method: "PATCH", type: merge }, { data: map(() => null) }),
  "merge patch, one key of 500 kB": () =>
    change(
      maps,
      configMap({ data: map(() => text, half) }),
      { method: "PATCH", type: merge },
      { data: { k1: "w" } },
    ),
  "strategic patch, keys": () =>
    change(
      maps,
      configMap({ data: wide(100) }),
      { method: "PATCH", type: strategic },
      { data: map(() => text) },
    ),
  "strategic patch, containers": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      { method: "PATCH", type: strategic },
      { spec: { template: { spec: { containers: items(container) } } } },
    ),
  "strategic patch, deletions": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      { method: "PATCH", type: strategic },
      {
        spec: {
          template: { spec: { containers: items((index) => ({ $patch: "delete", name: `c${index}` })) } },
        },
      },
    ),
  "strategic patch, variables in order": () =>
    change(
      deployments,
      deployment([{ name: "c", image: "i" }]),
      { method: "PATCH", type: strategic },
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
    ),
  "strategic patch, finalizers": () =>
    change(
      maps,
      configMap({}),
      { method: "PATCH", type: strategic },
      { metadata: { finalizers: items((index) => `a/b${index}`) } },
    ),
  "apply, keys": () => applied(maps, configMap({ data: map(() => text) })),
  "apply, 1 MiB of keys": () => applied(maps, configMap({ data: map(() => text, full) })),
  "apply, keys on as many": () =>
    applied(maps, configMap({ data: map(() => "w", half) }), configMap({ data: map(() => text, half) })),
  "apply, one key of 500 kB": () =>
    applied(maps, configMap({ data: { k1: "w" } }), configMap({ data: map(() => text, half) })),
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
