import assert from "node:assert/strict";
import { test } from "node:test";
import { structType } from "@dray/api/codec";
import { restoreProblem } from "./restore.ts";

const pod = structType("core/v1.Pod");

test("a value of the wrong type is rejected with the converter's message", () => {
  const problem = (spec: unknown): string | undefined => restoreProblem({ spec }, pod);
  const container = (fields: object): object => ({ containers: [fields] });
  const cases: readonly (readonly [unknown, string])[] = [
    [5, "cannot restore struct from: int64"],
    [container({ name: 5 }), "cannot convert int64 to string"],
    [container({ imagePullPolicy: 5 }), "cannot convert int64 to v1.PullPolicy"],
    [container({ args: [true] }), "unrecognized type: string"],
    [container({ args: "x" }), "cannot restore slice from string"],
    [{ nodeSelector: [] }, "cannot restore map from slice"],
    [{ priority: "x" }, "unrecognized type: int32"],
    [{ priority: 1.5 }, "cannot convert float64 to int32"],
    [{ hostNetwork: {} }, "unrecognized type: bool"],
    [
      container({ livenessProbe: { httpGet: { port: true } } }),
      "json: cannot unmarshal bool into Go value of type int32",
    ],
  ];
  for (const [spec, message] of cases) assert.equal(problem(spec), message);
  assert.equal(
    problem({ priority: 5, nodeSelector: null, containers: [{ name: "c", args: ["x"] }] }),
    undefined,
  );
});
