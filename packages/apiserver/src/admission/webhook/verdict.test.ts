import assert from "node:assert/strict";
import { test } from "node:test";
import { CallFailure } from "../../webhook/errors.ts";
import { verdictOf } from "./verdict.ts";

const review = { uid: "u", version: "v1", body: "" } as const;

const answer = (response: unknown): string =>
  JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response });

function failure(text: string, mutating = true): string {
  try {
    verdictOf(text, review, mutating);
  } catch (error) {
    if (error instanceof CallFailure) return error.message;
    throw error;
  }
  return "";
}

test("null is an answer without a response", () => {
  assert.equal(failure("null"), "received invalid webhook response: webhook response was absent");
});

test("fields of another form are refused as Go's decoder does", () => {
  const cannot = "failed to call webhook: json: cannot unmarshal";
  assert.equal(
    failure(answer({ uid: "u", allowed: "yes" })),
    `${cannot} string into Go struct field AdmissionResponse.response.allowed of type bool`,
  );
  assert.equal(
    failure(answer({ uid: 5 })),
    `${cannot} number into Go struct field AdmissionResponse.response.uid of type types.UID`,
  );
  assert.equal(
    failure(answer({ uid: "u", status: { code: "x" } })),
    `${cannot} string into Go struct field Status.response.status.code of type int32`,
  );
  assert.equal(
    failure('{"kind": 5}'),
    "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
  );
});

test("a patch must be base64; of what type it is counts when there is something to apply", () => {
  assert.equal(
    failure(answer({ uid: "u", allowed: true, patchType: "JSONPatch", patch: "###" })),
    "failed to call webhook: illegal base64 data at input byte 0",
  );
  const merge = { uid: "u", allowed: true, patchType: "Merge", patch: Buffer.from("[]").toString("base64") };
  assert.deepEqual(verdictOf(answer(merge), review, true).patch, { type: "Merge", text: "[]" });
});

test("a response with too many values is not read to its end", () => {
  const values = `[${"0,".repeat(200_000)}`;
  assert.equal(
    failure(`{"kind":"AdmissionReview","x":${values}`),
    "failed to call webhook: the response has more than 150000 fields, keys and elements",
  );
});

test("whole numbers of any size are numbers", () => {
  assert.match(failure("12345678901234567890"), /cannot unmarshal number into/);
});

test("null fields are absent", () => {
  const nulls = { patch: null, patchType: null, warnings: null, status: null, auditAnnotations: null };
  for (const response of [nulls, { ...nulls, status: { message: null, code: null } }, { warnings: [] }])
    assert.deepEqual(
      { ...verdictOf(answer({ uid: "u", allowed: true, ...response }), review, true), result: undefined },
      { allowed: true, warnings: [], result: undefined },
    );
  assert.deepEqual(
    verdictOf(answer({ uid: "u", allowed: true, warnings: ["a", null] }), review, true).warnings,
    ["a", ""],
  );
  assert.equal(
    failure(answer({ uid: "u", warnings: [5] })),
    "failed to call webhook: json: cannot unmarshal number into Go struct field AdmissionResponse.response.warnings of type string",
  );
});
