import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { withCluster } from "../testing/cluster.ts";

const asks = (cpu: string, more: object = {}): object => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
  ...more,
});

test("attempts, waiting pods, plugins and preemption are counted under the names of kube-scheduler", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    await cluster.create(PriorityClass, { metadata: { name: "high" }, value: 100 });
    let elapsed = 0;
    const { scheduler } = await cluster.scheduler(undefined, { elapsed: () => elapsed++ });
    await cluster.pod("gated", asks("1", { schedulingGates: [{ name: "g" }] }));
    await cluster.pod("bound", asks("3"));
    await cluster.bound("bound");
    await cluster.pod("waiting", asks("3"));
    await cluster.refused("waiting");
    await cluster.pod("preemptor", asks("3", { priorityClassName: "high" }));
    await cluster.until(
      "the victim goes",
      async () => (await cluster.get(Pod, "bound")).metadata.deletionTimestamp !== undefined,
    );
    await cluster.refused("preemptor");
    const lines = new Set(scheduler.metrics().split("\n"));
    for (const line of [
      'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1',
      'scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"} 2',
      'scheduler_scheduling_attempt_duration_seconds_count{profile="default-scheduler",result="scheduled"} 1',
      "scheduler_scheduling_algorithm_duration_seconds_count 3",
      'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 1',
      "scheduler_pod_scheduling_attempts_count 1",
      'scheduler_pending_pods{queue="gated"} 1',
      'scheduler_pending_pods{queue="unschedulable"} 2',
      'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 2',
      'scheduler_cache_size{type="nodes"} 1',
      'scheduler_cache_size{type="pods"} 1',
      "scheduler_preemption_attempts_total 2",
      "scheduler_preemption_victims_count 1",
      'scheduler_preemption_execution_duration_seconds_count{preemptor="pod",result="success"} 1',
      'scheduler_plugin_evaluation_total{extension_point="Filter",plugin="NodeResourcesFit",profile="default-scheduler"} 3',
      'scheduler_framework_extension_point_duration_seconds_count{extension_point="PostFilter",profile="default-scheduler",status="Success"} 1',
      'scheduler_framework_extension_point_duration_seconds_count{extension_point="Bind",profile="default-scheduler",status="Success"} 1',
      'scheduler_plugin_execution_duration_seconds_count{extension_point="Filter",plugin="NodeResourcesFit",status="Success"} 1',
      'scheduler_queue_incoming_pods_total{event="UnscheduledPodAdd",queue="active"} 3',
      'scheduler_queue_incoming_pods_total{event="ScheduleAttemptFailure",queue="unschedulable"} 2',
    ])
      assert.ok(lines.has(line), `${line}\n\n${[...lines].join("\n")}`);
  }));
