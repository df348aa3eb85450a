import assert from "node:assert/strict";
import { existsSync, mkdtempSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { VolumeMount } from "@dray/api/core/v1";
import { temporaryFolder } from "@dray/testing/folder";
import { removeTree } from "../base/mounts.ts";
import type { StartableContainer } from "../types/containers.ts";
import { containerMounts, isRecursivelyReadOnly } from "./mounts.ts";

const mountOf = (recursiveReadOnly: string | undefined, readOnly = true): VolumeMount => ({
  name: "data",
  mountPath: "/data",
  readOnly,
  ...(recursiveReadOnly !== undefined && { recursiveReadOnly }),
});

function mounts(mount: VolumeMount, recursiveReadOnly: boolean) {
  return containerMounts({
    container: { name: "main", volumeMounts: [mount] } as StartableContainer,
    volumes: new Map([["data", { path: "/place", readOnly: false }]]),
    images: new Map(),
    env: new Map(),
    paths: { contains: () => true },
    writesMachine: false,
    checksMounts: false,
    podDirectory: "/pod",
    recursiveReadOnly,
  });
}

test("a mount is recursively read-only if requested and supported by the runtime", () => {
  const cases: [mode: string | undefined, readOnly: boolean, supported: boolean, expected: boolean][] = [
    [undefined, true, true, false],
    ["Disabled", true, true, false],
    ["IfPossible", true, true, true],
    ["IfPossible", true, false, false],
    ["Enabled", true, true, true],
    ["IfPossible", false, true, false],
  ];
  for (const [mode, readOnly, supported, expected] of cases) {
    const mount = mountOf(mode, readOnly);
    const [made] = mounts(mount, supported);
    assert.deepEqual([made?.readOnly, made?.recursiveReadOnly ?? false], [readOnly, expected], `${mode}`);
    assert.equal(isRecursivelyReadOnly(mount, supported), expected);
  }
});

test("a pod that requires recursive read-only mounts does not start on a runtime without them", () => {
  assert.throws(() => mounts(mountOf("Enabled"), false), {
    reason: "CreateContainerConfigError",
    message:
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
  });
});

test("a missing folder of a subPath is created on the machine only where the container could create it", (context) => {
  const place = temporaryFolder(context);
  const pod = mkdtempSync("/tmp/dray-pod-");
  context.after(() => removeTree(pod));
  const mount = (subPath: string, { readOnly = false, writesMachine = true, contains = false }) =>
    containerMounts({
      container: {
        name: "main",
        volumeMounts: [{ name: "data", mountPath: "/data", subPath, readOnly }],
      } as StartableContainer,
      volumes: new Map([["data", { path: place, readOnly: false }]]),
      images: new Map(),
      env: new Map(),
      paths: { contains: () => contains },
      writesMachine,
      checksMounts: true,
      podDirectory: pod,
      recursiveReadOnly: false,
    });
  const [made] = mount("made", {});
  assert.equal(statSync(made?.hostPath ?? "").ino, statSync(join(place, "made")).ino);
  mount("own", { contains: true, readOnly: true, writesMachine: false });
  assert.ok(existsSync(join(place, "own")));
  for (const [name, how] of [
    ["read-only", { readOnly: true }],
    ["unwritable", { writesMachine: false }],
  ] as const) {
    assert.throws(() => mount(name, how), { reason: "CreateContainerConfigError" });
    assert.ok(!existsSync(join(place, name)));
  }
});
