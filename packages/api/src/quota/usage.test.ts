import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResourceQuota } from "../generated/core/v1.ts";
import type { QuotaEvaluator } from "../kinds/quota-evaluator.ts";
import type { KubeObject } from "../objects/object.ts";
import { Quantity } from "../values/quantity.ts";
import { quotaStatus } from "./usage.ts";

/** Charges `amount` for each object under one name. */
const charging = (charged: string, amount: number): QuotaEvaluator => ({
  handles: () => true,
  matching: (names) => names.filter((name) => name === charged),
  usage: () => new Map([[charged, Quantity.of(amount)]]),
});

test("charges of several resources under one name add up", () => {
  const name = "requests.example.com/gpu";
  const quota = {
    metadata: { name: "q", namespace: "d" },
    spec: { hard: { [name]: "10", pods: "5" } },
    status: { used: { [name]: "7", pods: "4" } },
  } as unknown as ResourceQuota;
  const objects = (count: number) => () => Array.from({ length: count }, () => ({}) as KubeObject);
  const status = quotaStatus(quota, [
    { evaluator: charging(name, 2), objects: objects(1) },
    { evaluator: charging(name, 1), objects: objects(3) },
  ]);
  // Amounts that no evaluator counts stay unchanged.
  assert.deepEqual(status.used, { [name]: "5", pods: "4" });
  assert.equal(quotaStatus(quota, [{ evaluator: charging(name, 1), objects: objects(0) }]).used?.[name], "0");
});
