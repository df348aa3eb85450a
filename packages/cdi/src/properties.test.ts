import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import {
  applyToContainer,
  applyToOciConfig,
  CdiError,
  type ContainerDescription,
  type ContainerEdits,
  cdiRegistry,
  type HostDevice,
  mergeEdits,
  minimumVersion,
  type OciConfig,
  parseQualifiedName,
  parseSpec,
  qualifiedName,
  type Spec,
  UnresolvableDevicesError,
  validateSpec,
} from "./index.ts";

// What the package does, held against models that say each rule of the specification as plainly as possible.

const few = { maxLength: 3 } as const;
const word = fc.constantFrom("a", "b", "c", "eth0", "net1");
const path = fc.constantFrom("/", "/a", "/a/b", "/a/", "/dev/x", "/dev/y", "/a/b/../c");
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
/** An object without the fields that are undefined, as JSON has it. */
const record = <T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K] | undefined> }) =>
  fc.record(model as never).map((one: object) => JSON.parse(JSON.stringify(one)) as T);

const env = fc.tuple(word, word).map(([name, value]) => `${name}=${value}`);
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
const edits = record<ContainerEdits>({
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
const content = fc
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

const versions = ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"];

/** The version that each thing in a spec needs. */
function neededModel(spec: Omit<Spec, "cdiVersion">): string {
  const needs = ["0.3.0"];
  const all = [spec.containerEdits ?? {}, ...spec.devices.map((device) => device.containerEdits)];
  for (const one of all) {
    if (one.netDevices?.length || one.intelRdt?.schemata || one.intelRdt?.enableMonitoring)
      needs.push("1.1.0");
    if (one.intelRdt || one.additionalGids?.length) needs.push("0.7.0");
    if (one.deviceNodes?.some(({ hostPath }) => hostPath)) needs.push("0.5.0");
    if (one.mounts?.some(({ type }) => type)) needs.push("0.4.0");
  }
  if (Object.keys(spec.annotations ?? {}).length > 0 || spec.kind.split("/")[1]!.includes("."))
    needs.push("0.6.0");
  if (spec.devices.some(({ name }) => name[0]! >= "0" && name[0]! <= "9")) needs.push("0.5.0");
  return needs.sort().at(-1)!;
}

test("a spec comes back from JSON and from YAML as it was, in the lowest version that suffices and any higher", () => {
  fc.assert(
    fc.property(content, fc.nat(7), (one, extra) => {
      const minimum = minimumVersion(one);
      assert.equal(minimum, neededModel(one));
      const version = versions[Math.min(versions.indexOf(minimum) + extra, 7)]!;
      const spec = { cdiVersion: version, ...one };
      assert.deepEqual(parseSpec(JSON.stringify(spec)), spec);
      assert.deepEqual(parseSpec(stringify(spec)), spec);
    }),
  );
});

test("one device: a lower version than what it uses needs is refused", () => {
  fc.assert(
    fc.property(content, fc.nat(7), (one, index) => {
      const spec = { ...one, devices: one.devices.slice(0, 1), cdiVersion: versions[index]! };
      const accepted = versions.indexOf(minimumVersion(spec)) <= index;
      if (accepted) assert.equal(validateSpec(spec), spec);
      else assert.throws(() => validateSpec(spec), /^CdiError: cdiVersion: .* is too low/);
    }),
  );
});

test("whatever stands in place of a part of a spec is accepted or refused by a CdiError that names the part", () => {
  const anything = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom("..", "a\nb", "rwmx", -1, 2 ** 53, 0.5),
  );
  fc.assert(
    fc.property(
      content,
      fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
      anything,
      (one, way, value) => {
        const spec = structuredClone({ cdiVersion: "1.1.0", ...one }) as unknown;
        let at = spec as Record<string, unknown>;
        const names: string[] = [];
        for (const step of way) {
          const keys = Object.keys(at);
          if (keys.length === 0) break;
          const key = keys[step % keys.length]!;
          names.push(key);
          const next = at[key];
          if (typeof next !== "object" || next === null || names.length === way.length) {
            at[key] = value;
            break;
          }
          at = next as Record<string, unknown>;
        }
        try {
          assert.equal(validateSpec(spec), spec);
        } catch (error) {
          assert.ok(error instanceof CdiError, String(error));
          // A wrong kind or name may be what makes the version too low.
          const [first] = error.message.split(/[.[:]/);
          assert.ok(first === names[0] || first === "cdiVersion", `${error.message} for ${names.join(".")}`);
        }
      },
    ),
  );
});

const host: HostDevice = { type: "c", major: 200, minor: 7, fileMode: 0o660 };
const lookUp = () => host;

/** The table of the specification, row by row, on a configuration that is changed in place. */
function applyModel(original: OciConfig, one: ContainerEdits): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: a model that says no more than the rules
  const config: any = structuredClone(original);
  const into = (...names: string[]) => {
    let at = config;
    for (const name of names) {
      at[name] ??= {};
      at = at[name];
    }
    return at;
  };
  const list = (at: Record<string, unknown[] | undefined>, name: string) => {
    const found = at[name] ?? [];
    at[name] = found;
    return found;
  };
  for (const variable of one.env ?? []) {
    const all = list(into("process"), "env") as string[];
    const index = all.findIndex((old) => old.split("=")[0] === variable.split("=")[0]);
    if (index < 0) all.push(variable);
    else all[index] = variable;
  }
  for (const node of one.deviceNodes ?? []) {
    const whole = node.type && (node.major || node.type === "p");
    if (!whole && node.type && node.type !== host.type) return "type";
    const type = whole ? node.type : host.type;
    const own = node.major || type === "p";
    const { uid, gid } = config.process?.user ?? {};
    const device = {
      path: node.path,
      type,
      major: whole || own ? (node.major ?? 0) : host.major,
      minor: whole || own ? (node.minor ?? 0) : host.minor,
      fileMode: node.fileMode ?? (whole ? undefined : host.fileMode),
      uid: node.uid ?? (uid > 0 ? uid : undefined),
      gid: node.gid ?? (gid > 0 ? gid : undefined),
    };
    const linux = into("linux");
    linux.devices = [
      // biome-ignore lint/suspicious/noExplicitAny: see above
      ...(linux.devices ?? []).filter((old: any) => old.path !== node.path),
      JSON.parse(JSON.stringify(device)),
    ];
    if (type === "b" || type === "c") {
      const access = node.permissions === "none" ? undefined : node.permissions || "rwm";
      const rule = { allow: true, type, major: device.major, minor: device.minor, access };
      list(into("linux", "resources"), "devices").push(JSON.parse(JSON.stringify(rule)));
    }
  }
  for (const { hostInterfaceName, name } of one.netDevices ?? []) {
    into("linux", "netDevices")[hostInterfaceName] = { name };
  }
  const depth = (destination: string) =>
    posix.join("/", destination, ".").replace(/\/$/, "").split("/").length;
  for (const { hostPath, containerPath, type, options } of one.mounts ?? []) {
    // biome-ignore lint/suspicious/noExplicitAny: see above
    config.mounts = (config.mounts ?? []).filter((old: any) => old.destination !== containerPath);
    config.mounts.push(
      JSON.parse(
        JSON.stringify({
          destination: containerPath,
          source: hostPath,
          type: type || undefined,
          options: options?.length ? options : undefined,
        }),
      ),
    );
  }
  if (one.mounts?.length) {
    // The Go library takes the root for as deep as what lies in it.
    const rank = (destination: string) => Math.max(2, depth(destination));
    // biome-ignore lint/suspicious/noExplicitAny: see above
    config.mounts.sort((a: any, b: any) => rank(a.destination) - rank(b.destination));
  }
  for (const { hookName, ...rest } of one.hooks ?? []) list(into("hooks"), hookName).push(rest);
  if (one.intelRdt) into("linux").intelRdt = one.intelRdt;
  for (const gid of one.additionalGids ?? []) {
    const all = list(into("process", "user"), "additionalGids");
    if (gid !== 0 && !all.includes(gid)) all.push(gid);
  }
  return config;
}

const config = record<OciConfig>({
  process: optional(
    record<NonNullable<OciConfig["process"]>>({
      env: optional(fc.uniqueArray(env, { ...few, selector: (one) => one.split("=")[0] })),
      user: optional(
        record<{ uid?: number; gid?: number; additionalGids?: number[] }>({
          uid: optional(fc.nat(2)),
          gid: optional(fc.nat(2)),
          additionalGids: optional(fc.uniqueArray(fc.nat(4), few)),
        }),
      ),
    }),
  ),
  mounts: optional(
    fc.uniqueArray(
      path.map((destination) => ({ destination })),
      { ...few, selector: ({ destination }) => destination },
    ),
  ),
  linux: optional(
    record<NonNullable<OciConfig["linux"]>>({
      devices: optional(fc.constant([{ path: "/dev/x", type: "c", major: 1, minor: 1 }])),
      netDevices: optional(fc.constant({ eth0: { name: "old" } })),
      intelRdt: optional(fc.constant({ closID: "old" })),
    }),
  ),
});

test("edits change an OCI configuration as the specification's table says, and never the original", () => {
  fc.assert(
    fc.property(config, edits, (original, one) => {
      const before = JSON.stringify(original);
      const expected = applyModel(original, one);
      if (expected === "type") {
        assert.throws(() => applyToOciConfig(original, one, lookUp), CdiError);
      } else {
        assert.deepEqual(applyToOciConfig(original, one, lookUp), expected);
      }
      assert.equal(JSON.stringify(original), before);
    }),
    { numRuns: 500 },
  );
});

test("several edits as one do what they do one after the other, except that mounts are ordered in the end", () => {
  fc.assert(
    fc.property(config, fc.array(edits, few), (original, all) => {
      const merged = applyModel(original, mergeEdits(all));
      if (merged === "type") return;
      const one = applyToOciConfig(original, mergeEdits(all), lookUp);
      let step: OciConfig = original;
      for (const each of all) step = applyToOciConfig(step, each, lookUp);
      const { mounts: _, ...rest } = one;
      const { mounts: __, ...stepRest } = step;
      assert.deepEqual(rest, stepRest);
    }),
  );
});

test("a plain container gets variables, mounts and device nodes as an OCI configuration does", () => {
  fc.assert(
    fc.property(edits, (one) => {
      const empty: ContainerDescription = { env: ["a=old"], mounts: [], deviceNodes: [], hooks: [] };
      const container = applyToContainer(empty, one);
      const oci = applyModel({ process: { env: ["a=old"] } }, { ...one, deviceNodes: [] }) as OciConfig;
      assert.deepEqual(container.env, oci.process?.env);
      assert.deepEqual(
        container.mounts.map(({ containerPath }) => containerPath),
        (oci.mounts ?? []).map(({ destination }) => destination),
      );
      assert.deepEqual(
        container.deviceNodes.map((node) => node.path),
        [...new Set((one.deviceNodes ?? []).map((node) => node.path).toReversed())].toReversed(),
      );
      assert.deepEqual(container.hooks, one.hooks ?? []);
    }),
  );
});

test("a qualified name is taken apart as it was put together; anything else is an error", () => {
  const letters = "abzABZ";
  const digits = "019";
  const middle = `${letters}${digits}_.-`;
  /** By the letter, as the specification has it. */
  const isName = (name: string, first: string, between: string): boolean =>
    name !== "" &&
    first.includes(name[0]!) &&
    `${letters}${digits}`.includes(name.at(-1)!) &&
    [...name.slice(1, -1)].every((one) => between.includes(one));
  const part = fc.string({ unit: fc.constantFrom(..."abz019AZ_.-:/= \n"), maxLength: 4 });
  fc.assert(
    fc.property(part, part, part, (vendor, type, device) => {
      const valid =
        isName(vendor, letters, middle) &&
        isName(type, letters, middle) &&
        isName(device, `${letters}${digits}`, `${middle}:`);
      const name = qualifiedName(`${vendor}/${type}`, device);
      if (valid) assert.deepEqual(parseQualifiedName(name), { vendor, class: type, device });
      else if (![vendor, type, device].some((one) => /[/=]/.test(one))) {
        assert.throws(() => parseQualifiedName(name), CdiError);
      }
    }),
    { numRuns: 1000 },
  );
});

test("of files in two folders each device resolves to the one of the highest priority, or to none of equals", async () => {
  const root = mkdtempSync(join(tmpdir(), "dray-cdi-properties-"));
  try {
    const file = fc.record({
      folder: fc.nat(1),
      name: fc.constantFrom("a", "b", "c"),
      kind: fc.constantFrom("v/c", "v/d"),
      devices: fc.uniqueArray(fc.constantFrom("x", "y", "z"), { minLength: 1 }),
      broken: fc.nat(5).map((one) => one === 0),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(file, { maxLength: 6, selector: ({ folder, name }) => `${folder}${name}` }),
        async (files) => {
          const folders = [join(root, `${++round}-etc`), join(root, `${round}-run`)];
          for (const folder of folders) mkdirSync(folder);
          const defined = new Map<string, string[][]>();
          for (const { folder, name, kind, devices, broken } of files) {
            const spec = {
              cdiVersion: "0.3.0",
              kind,
              devices: devices.map((device) => ({
                name: device,
                containerEdits: { env: [`FROM=${folder}/${name}/${device}`] },
              })),
            };
            writeFileSync(join(folders[folder]!, `${name}.json`), broken ? "{" : JSON.stringify(spec));
            if (broken) continue;
            for (const device of devices) {
              const places = defined.get(`${kind}=${device}`) ?? [[], []];
              places[folder]!.push(`FROM=${folder}/${name}/${device}`);
              defined.set(`${kind}=${device}`, places);
            }
          }
          const registry = cdiRegistry(folders);
          const resolving: string[] = [];
          for (const [device, places] of defined) {
            const highest = places.findLast((one) => one.length > 0)!;
            if (highest.length > 1) {
              await assert.rejects(registry.resolve([device]), UnresolvableDevicesError);
            } else {
              resolving.push(device);
              assert.deepEqual((await registry.resolve([device])).env, highest);
            }
          }
          assert.deepEqual(await registry.devices(), resolving.sort());
          await assert.rejects(registry.resolve([...resolving, "v/c=w"]), UnresolvableDevicesError);
        },
      ),
      { numRuns: 40 },
    );
  } finally {
    rmSync(root, { recursive: true });
  }
});
