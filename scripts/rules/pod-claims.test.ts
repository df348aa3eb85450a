import assert from "node:assert/strict";
import { test } from "node:test";
import { podClaims } from "./pod-claims.ts";
import { createSource } from "./source.ts";

const linesOf = (text: string, path = "packages/a/src/a.ts"): unknown[] =>
  podClaims([createSource(path, text)]).map(({ line }) => line);

test("finds readers of the claims in a pod's spec, and of their names", () => {
  assert.deepEqual(
    linesOf(
      "const a = pod.spec.resourceClaims ?? [];\nconst { resourceClaims = [] } = spec;\nf(pod.status?.resourceClaimStatuses);",
    ),
    [1, 2, 3],
  );
});

test("objects that are made, texts, tests and the package of the kinds are not readers", () => {
  const read = "f(pod.spec.resourceClaims);";
  assert.deepEqual(linesOf('const a = { resourceClaims: [] };\nf("spec.resourceClaims");'), []);
  assert.deepEqual(linesOf(read, "packages/a/src/a.test.ts"), []);
  assert.deepEqual(linesOf(read, "packages/api/src/pod/claims.ts"), []);
});
