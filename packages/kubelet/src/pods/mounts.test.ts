import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, VolumeMount } from "@dray/api/core/v1";
import { containerMounts, isRecursivelyReadOnly } from "./mounts.ts";
import type { StartableContainer } from "./plan.ts";

const mountOf = (recursiveReadOnly: string | undefined, readOnly = true): VolumeMount => ({
  name: "data",
  mountPath: "/data",
  readOnly,
  ...(recursiveReadOnly !== undefined && { recursiveReadOnly }),
});

function mounts(mount: VolumeMount, recursiveReadOnly: boolean) {
  return containerMounts({
    pod: { spec: { volumes: [{ name: "data", emptyDir: {} }] } } as unknown as Pod,
    container: { name: "main", volumeMounts: [mount] } as StartableContainer,
    places: new Map([["data", "/place"]]),
    images: new Map(),
    env: new Map(),
    paths: { contains: () => true },
    recursiveReadOnly,
  });
}

test("what is mounted below is read-only if that is wanted and the runtime can do it", () => {
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

test("a pod that insists on it does not start where the runtime cannot", () => {
  assert.throws(() => mounts(mountOf("Enabled"), false), {
    reason: "CreateContainerConfigError",
    message:
      'failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime',
  });
});
