import assert from "node:assert/strict";
import { test } from "node:test";
import { HealthMetrics } from "@dray/client";
import { readExposition } from "@dray/testing/exposition";

test("the last result of each check, and the number of results", () => {
  const metrics = new HealthMetrics();
  metrics.observe("ping", "healthz", true);
  metrics.observe("ping", "readyz", true);
  metrics.observe("ping", "healthz", false);
  const read = readExposition(metrics.text());
  assert.deepEqual(
    read.get("kubernetes_healthcheck")?.samples.map(({ labels, value }) => [labels["type"], value]),
    [
      ["healthz", 0],
      ["readyz", 1],
    ],
  );
  assert.deepEqual(
    read
      .get("kubernetes_healthchecks_total")
      ?.samples.map(({ labels, value }) => [labels["type"], labels["status"], value]),
    [
      ["healthz", "success", 1],
      ["readyz", "success", 1],
      ["healthz", "error", 1],
    ],
  );
});
