import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { ControllerMetrics } from "./metrics.ts";

const linesOf = (metrics: ControllerMetrics): string[] =>
  metrics
    .text()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));

test("counters without labels begin at 0, and labels have one order", () => {
  const metrics = new ControllerMetrics();
  assert.deepEqual(linesOf(metrics), ["device_taint_eviction_controller_pod_deletions_total 0"]);
  metrics.count("dynamic_resource_allocation_resourceclaim_creates_total", {
    ...{ owner_api_kind: "Pod", owner_api_group: "" },
    ...{ admin_access: "false", status: "success" },
  });
  assert.ok(
    linesOf(metrics).includes(
      'dynamic_resource_allocation_resourceclaim_creates_total{status="success",admin_access="false",owner_api_group="",owner_api_kind="Pod"} 1',
    ),
  );
});

test("histograms and gauges are in the text format", () => {
  const metrics = new ControllerMetrics();
  const labels = { driver_name: "d" };
  metrics.observe("resourcepoolstatusrequest_controller_request_processing_duration_seconds", 0.003, labels);
  metrics.gauge("dynamic_resource_allocation_resource_claims", () => [
    { labels: { allocated: "true", admin_access: "false", source: "" }, value: 2 },
  ]);
  const name = "resourcepoolstatusrequest_controller_request_processing_duration_seconds";
  const lines = linesOf(metrics);
  for (const line of [
    `${name}_bucket{driver_name="d",le="0.002"} 0`,
    `${name}_bucket{driver_name="d",le="0.004"} 1`,
    `${name}_bucket{driver_name="d",le="+Inf"} 1`,
    `${name}_count{driver_name="d"} 1`,
    'dynamic_resource_allocation_resource_claims{allocated="true",admin_access="false",source=""} 2',
  ])
    assert.ok(lines.includes(line), line);
});

test("work queues are counted under their names", () => {
  const metrics = new ControllerMetrics();
  metrics.workQueues.queue("deployment", systemClock, () => 3);
  assert.ok(linesOf(metrics).includes('workqueue_depth{name="deployment"} 3'));
});
