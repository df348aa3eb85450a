import assert from "node:assert/strict";
import { posix } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  applyToContainer,
  applyToOciConfig,
  CdiError,
  type ContainerDescription,
  type ContainerEdits,
  type HostDevice,
  mergeEdits,
  type OciConfig,
} from "../index.ts";
import { edits, env, few, optional, path, record } from "../testing/arbitraries.ts";

// Compares the package with models that state each rule of the specification as simply as possible.

const host: HostDevice = { type: "c", major: 200, minor: 7, fileMode: 0o660 };
const lookUp = () => host;

/** Applies the table of the specification row by row to a configuration, in place. */
function applyModel(original: OciConfig, one: ContainerEdits): unknown {
  // biome-ignore lint/suspicious/noExplicitAny: the model adds fields by name, of any type.
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
    // The Go library counts the root as deep as its children.
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

test("merged edits equal edits in sequence, except for the order of mounts", () => {
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
