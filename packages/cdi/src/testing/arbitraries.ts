/** Random specs and edits. */
import fc from "fast-check";
import type { ContainerEdits, Spec } from "../index.ts";

export const few = { maxLength: 3 } as const;
const word = fc.constantFrom("a", "b", "c", "eth0", "net1");
export const path = fc.constantFrom("/", "/a", "/a/b", "/a/", "/dev/x", "/dev/y", "/a/b/../c");
export const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** An object without its undefined fields, as in JSON. */
export const record = <T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K] | undefined> }) =>
  fc.record(model as never).map((one: object) => JSON.parse(JSON.stringify(one)) as T);

export const env = fc.tuple(word, word).map(([name, value]) => `${name}=${value}`);
const deviceNode = record<NonNullable<ContainerEdits["deviceNodes"]>[number]>({
  path,
  hostPath: optional(path),
  type: optional(fc.constantFrom("b", "c", "u", "p", "")),
  major: optional(fc.integer({ min: 0, max: 9 })),
  minor: optional(fc.integer({ min: 0, max: 9 })),
  fileMode: optional(fc.integer({ min: 0, max: 0o777 })),
  permissions: optional(fc.constantFrom("rwm", "r", "", "none")),
  uid: optional(fc.integer({ min: 0, max: 3 })),
  gid: optional(fc.integer({ min: 0, max: 3 })),
});
const mount = record<NonNullable<ContainerEdits["mounts"]>[number]>({
  hostPath: path,
  containerPath: path,
  options: optional(fc.array(fc.constantFrom("ro", "bind"), few)),
  type: optional(fc.constantFrom("", "bind")),
});
const hook = record<NonNullable<ContainerEdits["hooks"]>[number]>({
  hookName: fc.constantFrom(
    "prestart",
    "createRuntime",
    "createContainer",
    "startContainer",
    "poststart",
    "poststop",
  ),
  path,
  args: optional(fc.array(word, few)),
  env: optional(fc.array(env, few)),
  timeout: optional(fc.integer({ min: 0, max: 60 })),
});
const intelRdt = record<NonNullable<ContainerEdits["intelRdt"]>>({
  closID: optional(word),
  l3CacheSchema: optional(word),
  memBwSchema: optional(word),
  schemata: optional(fc.array(word, few)),
  enableMonitoring: optional(fc.boolean()),
});
const netDevices = fc
  .uniqueArray(word, few)
  .map((names) => names.map((name, i) => ({ hostInterfaceName: name, name: `in${i}` })));
export const edits = record<ContainerEdits>({
  env: optional(fc.array(env, few)),
  deviceNodes: optional(fc.array(deviceNode, few)),
  netDevices: optional(netDevices),
  mounts: optional(fc.array(mount, few)),
  hooks: optional(fc.array(hook, few)),
  intelRdt: optional(intelRdt),
  additionalGids: optional(fc.array(fc.integer({ min: 0, max: 5 }), few)),
});
const filledEdits = fc.tuple(edits, env).map(([some, one]) => ({ ...some, env: [...(some.env ?? []), one] }));
const kind = fc.constantFrom("vendor.com/gpu", "v/c", "vendor.com/gpu.large", "a_b-c/d");
const deviceName = fc.constantFrom("gpu0", "0", "1-a:b.c_d", "all");
export const content = fc
  .record({
    kind,
    annotations: optional(fc.dictionary(word, word, { maxKeys: 1 })),
    devices: fc.uniqueArray(fc.record({ name: deviceName, containerEdits: filledEdits }), {
      minLength: 1,
      maxLength: 3,
      selector: ({ name }) => name,
    }),
    containerEdits: optional(edits),
  })
  .map((one) => JSON.parse(JSON.stringify(one)) as Omit<Spec, "cdiVersion">);

export const versions = ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"];
