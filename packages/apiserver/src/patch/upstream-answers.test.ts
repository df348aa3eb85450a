/**
 * Random writes and the results of Kubernetes' own Go libraries (apimachinery 0.37.2, structured-merge-diff
 * 6.4.2, evanphx/json-patch 4.13): `upstream-answers.jsonl`, one case a line.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import {
  apply,
  builtInType,
  jsonPatch,
  mergePatch,
  type ObjectType,
  strategicMergePatch,
  trackUpdate,
} from "./index.ts";

type Json = { readonly [key: string]: unknown };

interface Question {
  readonly op: "apply" | "update" | "strategic" | "merge" | "json";
  /** `apps/v1 Deployment` */
  readonly type?: string;
  readonly subresource?: string;
  readonly manager?: string;
  readonly force?: boolean;
  readonly live: Json;
  readonly object?: Json;
  readonly patch?: unknown;
  readonly answer?: Json;
  readonly error?: { readonly code: number; readonly message?: string };
}

const now = "2026-11-21T00:00:00Z";
const questions = readFileSync(join(import.meta.dirname, "upstream-answers.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => freeze(JSON.parse(line) as Question));

for (const [i, question] of questions.entries()) {
  test(`${i + 1}: ${question.op} ${question.type ?? "v1 Pod"}`, () => {
    if (question.error === undefined) {
      assert.deepEqual(plain(answer(question)), plain(question.answer));
      return;
    }
    const { code, message } = question.error;
    assert.throws(
      () => answer(question),
      (error) =>
        error instanceof StatusError &&
        error.code === code &&
        (message === undefined || error.message === message),
    );
  });
}

function answer(question: Question): unknown {
  const { op, live, object = {}, patch, manager = "", force = false, subresource = "" } = question;
  const type = typeNamed(question.type ?? "v1 Pod");
  switch (op) {
    case "apply":
      return apply({ live, applied: object, manager, force, type, subresource, now });
    case "update":
      return trackUpdate({ live, updated: object, manager, type, subresource, now });
    case "strategic":
      return strategicMergePatch(live, patch, type);
    case "merge":
      return mergePatch(live, patch);
    case "json":
      return jsonPatch(live, patch);
  }
}

function typeNamed(name: string): ObjectType {
  const [apiVersion = "", kind = ""] = name.split(" ");
  const type = builtInType(apiVersion, kind);
  assert.ok(type, name);
  return type;
}

/** Removes nulls, which are equivalent to absent. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, item) => item ?? undefined));
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const item of Object.values(value)) freeze(item);
    Object.freeze(value);
  }
  return value;
}
