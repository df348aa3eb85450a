import assert from "node:assert/strict";
import {
  applyToContainer,
  applyToOciConfig,
  CdiError,
  type HostDevice,
  mergeEdits,
  minimumVersion,
  type OciConfig,
  parseQualifiedName,
  parseSpec,
  qualifiedName,
  type Spec,
  specFileName,
  validateSpec,
} from "@dray/cdi";
import type { Random } from "@dray/testing/random";
import { stringify } from "yaml";
import { mutated } from "./mutate.ts";

/** Everything that a spec may have. */
const whole: Spec = {
  cdiVersion: "1.1.0",
  kind: "vendor.com/gpu.large",
  annotations: { "vendor.com/note": "text" },
  containerEdits: { env: ["ALL=1"], additionalGids: [44, 0] },
  devices: [
    {
      name: "0",
      annotations: { a: "b" },
      containerEdits: {
        env: ["PATH=/bin", "GPU=0"],
        deviceNodes: [
          { path: "/dev/gpu0", hostPath: "/dev/nvidia0", type: "c", major: 195, minor: 0, permissions: "rw" },
          { path: "/dev/gpuctl", fileMode: 0o660, uid: 1000, gid: 44 },
          { path: "/run/fifo", type: "p", permissions: "none" },
        ],
        netDevices: [{ hostInterfaceName: "eth1", name: "net0" }],
        mounts: [{ hostPath: "/usr/lib/gpu", containerPath: "/usr/lib/gpu", options: ["ro"], type: "bind" }],
        hooks: [{ hookName: "createContainer", path: "/bin/hook", args: ["hook"], env: ["A=b"], timeout: 5 }],
        intelRdt: { closID: "gpu", schemata: ["L3:0=f"], enableMonitoring: true },
        additionalGids: [1000],
      },
    },
    { name: "all", containerEdits: { env: ["GPU=all"] } },
  ],
};

const config: OciConfig = {
  process: { env: ["PATH=/usr/bin", "HOME=/"], user: { uid: 1000, gid: 1000, additionalGids: [44] } },
  mounts: [{ destination: "/proc" }, { destination: "/usr/lib/gpu", source: "/old" }],
  linux: { devices: [{ path: "/dev/gpu0", type: "c", major: 1, minor: 1 }], intelRdt: { closID: "old" } },
};

const host: HostDevice = { type: "c", major: 195, minor: 255, fileMode: 0o666 };

/**
 * Broken and odd specs: each is read as a spec that can be applied and written again, or refused by a
 * CdiError.
 */
export function fuzzCdi(random: Random): void {
  for (let spec = 0; spec < 5; spec++) fuzzSpec(random);
  for (let name = 0; name < 5; name++) fuzzName(random);
}

function fuzzSpec(random: Random): void {
  const tree = mutated(random, whole, random.below(4));
  const spec = orRefused(() => (random.chance(0.3) ? validateSpec(tree) : parseSpec(text(random, tree))));
  if (spec === undefined) return;
  assert.equal(validateSpec(spec), spec);
  assert.deepEqual(parseSpec(JSON.stringify(spec)), JSON.parse(JSON.stringify(spec)), "it comes back");
  validateSpec({ ...spec, cdiVersion: minimumVersion(spec) });
  assert.ok(!specFileName(spec.kind, "id").includes("/"));
  const edits = mergeEdits([
    spec.containerEdits ?? {},
    ...spec.devices.map((device) => device.containerEdits),
  ]);
  const before = JSON.stringify(config);
  const applied = orRefused(() => applyToOciConfig(config, edits, () => host));
  assert.equal(JSON.stringify(config), before, "the configuration is left as it was");
  if (applied !== undefined) JSON.stringify(applied);
  applyToContainer({ env: [], mounts: [], deviceNodes: [], hooks: [] }, edits);
  for (const { name } of spec.devices) {
    assert.equal(parseQualifiedName(qualifiedName(spec.kind, name)).device, name);
  }
}

/** JSON or YAML, sometimes with a few bytes of it changed. */
function text(random: Random, tree: unknown): string {
  let written: string;
  try {
    written = (random.chance(0.5) ? JSON.stringify(tree) : stringify(tree)) ?? "";
  } catch {
    return "";
  }
  if (random.chance(0.5)) return written;
  const bytes = [...written];
  for (let change = 0; change < 3; change++) {
    bytes.splice(random.below(bytes.length + 1), random.below(3), random.pick(snippets));
  }
  return bytes.join("");
}

const snippets = [
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  '"',
  "\n",
  "  ",
  "&a ",
  "*a",
  "!!js ",
  "<<: ",
  "|\n",
  "- ",
  "#",
  "\0",
  "é",
  "1e99",
  "---\n",
  "%",
];

function fuzzName(random: Random): void {
  const letters = ["a", "Z", "0", ".", "-", "_", ":", "/", "=", " ", "\n", "é", ""];
  const name = Array.from({ length: random.below(8) }, () => random.pick(letters)).join("");
  const parts = orRefused(() => parseQualifiedName(name));
  if (parts !== undefined) assert.equal(qualifiedName(`${parts.vendor}/${parts.class}`, parts.device), name);
}

function orRefused<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (error instanceof CdiError) return undefined;
    throw error;
  }
}
