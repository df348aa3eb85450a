import {
  applied,
  type Case,
  change,
  configMap,
  create,
  deep,
  defined,
  items,
  jsonPatch,
  map,
  maps,
  merge,
  most,
  namespace,
  object,
  pod,
  strategic,
  text,
  thing,
  things,
  wide,
} from "./requests.ts";

const patch = (operations: readonly object[], first = configMap({ data: wide(100) })): Case =>
  change(maps, first, { method: "PATCH", type: jsonPatch }, operations);
const zeros = (count: number): readonly number[] => new Array<number>(count).fill(0);
const list = (count: number): object => ({ op: "add", path: "/x", value: zeros(count) });
const repeated = (count: number, operation: (index: number) => object): readonly object[] =>
  Array.from({ length: count }, (_, index) => operation(index));

const policies = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies";
const policy = (spec: object): object =>
  object("networking.k8s.io/v1", "NetworkPolicy", { spec: { podSelector: {}, ...spec } });
const address = (index: number): string =>
  `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}/32`;
const pods = `${namespace}/pods`;
const variables = (count: number): readonly object[] =>
  repeated(count, (index) => ({ name: `E${index}`, value: "v" }));
const podWith = (container: object): ReturnType<typeof pod> =>
  pod({ containers: [{ name: "c", image: "i", ...container }] });

/** Bodies whose work would grow faster than they do, or that are small and change something large. */
export const attacks: Readonly<Record<string, () => Case>> = {
  "attack: 9,000 moves in a list of 150,000": () =>
    patch([list(150_000), ...repeated(9_000, () => ({ op: "move", from: "/x/0", path: "/x/149999" }))]),
  "attack: 9,999 moves in a list of 1,400,000": () =>
    patch([list(1_200_000), ...repeated(9_998, () => ({ op: "move", from: "/x/0", path: "/x/9" }))]),
  "attack: 9,000 additions to the front of a list of 150,000": () =>
    patch([list(150_000), ...repeated(9_000, () => ({ op: "add", path: "/x/0", value: 1 }))]),
  "attack: 9,000 tests of a list of 150,000": () =>
    patch([list(150_000), ...repeated(9_000, () => ({ op: "test", path: "/x", value: [0, 0] }))]),
  "attack: copies of up to 3 MiB": () =>
    patch([
      { op: "add", path: "/x", value: zeros(150) },
      ...repeated(9_000, (index) => ({ op: "copy", from: "/x", path: `/y${index}` })),
    ]),
  "attack: pointers of 250 kB": () =>
    patch(repeated(6, () => ({ op: "move", from: "/a".repeat(125_000), path: "/b".repeat(125_000) }))),
  "attack: pointers of 250 kB into depth": () =>
    patch([
      { op: "add", path: "/data", value: deep(3_000, {}) },
      ...repeated(400, () => ({ op: "add", path: "/data".concat("/a".repeat(2_999), "/b"), value: 1 })),
    ]),
  "attack: a pointer of 3 MB of escapes": () =>
    patch([{ op: "add", path: `/${"~1".repeat(most / 2 - 100)}`, value: 1 }]),
  "attack: 9,999 changes of 1 MiB of keys": () =>
    patch(
      repeated(9_999, (index) => ({ op: "replace", path: `/data/k${index}`, value: "w" })),
      configMap({ data: map(() => text, 800_000) }),
    ),
  "attack: merge patch of one key of 1 MiB": () =>
    change(
      maps,
      configMap({ data: map(() => text, 800_000) }),
      { method: "PATCH", type: merge },
      { data: { k1: "w" } },
    ),
  "attack: merge patch, depth": () =>
    change(maps, configMap({}), { method: "PATCH", type: merge }, { x: deep(3_000, {}) }),
  "attack: merge patch, much depth": () =>
    change(
      things,
      thing({ spec: {} }),
      { method: "PATCH", type: merge, before: defined },
      { spec: map(() => deep(20, {})) },
    ),
  "attack: apply of 30,000 variables": () => applied(pods, podWith({ env: variables(30_000) })),
  "attack: apply of 10,000 variables on as many": () =>
    applied(
      pods,
      podWith({ env: repeated(10_000, (index) => ({ name: `E${index}`, value: "w" })) }),
      podWith({ env: variables(10_000) }),
    ),
  "attack: strategic patch of 10,000 variables on as many": () =>
    change(
      pods,
      podWith({ env: variables(10_000) }),
      { method: "PATCH", type: strategic },
      {
        spec: {
          containers: [
            {
              name: "c",
              env: variables(10_000).toReversed(),
              "$setElementOrder/env": repeated(10_000, (index) => ({ name: `E${index}` })),
            },
          ],
        },
      },
    ),
  "attack: strategic patch, one container again and again": () =>
    change(
      pods,
      podWith({}),
      { method: "PATCH", type: strategic },
      { spec: { containers: items((index) => ({ name: "c", ports: [{ containerPort: index }] })) } },
    ),
  "attack: strategic patch, deletions in order": () =>
    change(
      pods,
      podWith({ env: variables(10_000) }),
      { method: "PATCH", type: strategic },
      {
        spec: {
          containers: [
            {
              name: "c",
              env: repeated(10_000, (index) => ({ name: `E${index}`, $patch: "delete" })),
              "$setElementOrder/env": [],
            },
          ],
        },
      },
    ),
  "attack: strategic patch, deletions of a primitive list": () =>
    change(
      maps,
      configMap({}, { finalizers: repeated(30_000, (index) => `a/b${index}` as unknown as object) }),
      { method: "PATCH", type: strategic },
      { metadata: { "$deleteFromPrimitiveList/finalizers": items((index) => `a/b${index}`) } },
    ),
  "attack: 60,000 excepts of a NetworkPolicy": () =>
    create(
      policies,
      policy({
        ingress: [
          {
            from: [
              {
                ipBlock: { cidr: "10.0.0.0/8", except: Array.from({ length: 60_000 }, (_, i) => address(i)) },
              },
            ],
          },
        ],
      }),
    ),
  "attack: wrong excepts of a NetworkPolicy": () =>
    create(
      policies,
      policy({
        ingress: [{ from: [{ ipBlock: { cidr: "11.0.0.0/8", except: items((index) => address(index)) } }] }],
      }),
    ),
  "attack: peers of a NetworkPolicy": () =>
    create(policies, policy({ ingress: [{ from: items(() => ({ podSelector: {} })) }] })),
  "attack: requirements of a selector": () =>
    create(
      policies,
      policy({
        podSelector: { matchExpressions: items((index) => ({ key: `k${index}`, operator: "Exists" })) },
      }),
    ),
  "attack: values of a requirement": () =>
    create(
      policies,
      policy({
        podSelector: {
          matchExpressions: [{ key: "k", operator: "In", values: items((index) => `v${index}`) }],
        },
      }),
    ),
  "attack: unknown fields, strictly": () =>
    create(`${maps}?fieldValidation=Strict`, configMap({ ...map(() => text, most, "x") })),
  "attack: unknown fields, with warnings": () =>
    create(`${maps}?fieldValidation=Warn`, configMap({ ...map(() => text, most, "x") })),
  "attack: unknown objects": () => create(maps, configMap({ x: items(() => ({ a: {} })) })),
  "attack: a quantity of 3 MB of digits": () =>
    create(pods, podWith({ resources: { limits: { cpu: "1".repeat(most) } } })),
  "attack: quantities of large exponents": () =>
    create(pods, podWith({ resources: { limits: map(() => "1e1000000", most, "example.com/r") } })),
  "attack: a number of 3 MB of digits": () =>
    create(
      pods,
      JSON.stringify(podWith({ x: 0 })).replace(
        '"x":0',
        `"terminationGracePeriodSeconds":${"1".repeat(most)}`,
      ),
    ),
  "attack: a number of 3 MB of digits in a custom object": () =>
    create(
      things,
      JSON.stringify(thing({ spec: 0 })).replace('"spec":0', `"spec":{"n":${"1".repeat(most)}}`),
      undefined,
      defined,
    ),
  "attack: base64 that ends wrongly": () =>
    create(`${namespace}/secrets`, object("v1", "Secret", { data: { k: `${"A".repeat(most)}!` } })),
  "attack: many base64 values that are wrong": () =>
    create(`${namespace}/secrets`, object("v1", "Secret", { data: map(() => "!") })),
  "attack: depth of lists": () =>
    create(maps, `{"kind":"ConfigMap","apiVersion":"v1","x":${"[".repeat(most)}`),
  "attack: depth of objects": () =>
    create(maps, `{"kind":"ConfigMap","apiVersion":"v1","x":${'{"a":'.repeat(most / 5)}`),
  "attack: a key 200,000 times": () =>
    create(
      maps,
      `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"o"},"data":{${'"k":"v",'.repeat(200_000)}"k":"v"}}`,
    ),
  "attack: a key 200,000 times, strictly": () =>
    create(
      `${maps}?fieldValidation=Strict`,
      `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"o"},"data":{${'"k":"v",'.repeat(200_000)}"k":"v"}}`,
    ),
};
