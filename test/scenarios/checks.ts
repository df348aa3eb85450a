/** Checks of each scenario, by the name of its folder. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { eventually } from "@dray/testing/eventually";
import { getJSON } from "../harness.ts";
import { evicted, folder, type Play, results } from "./play.ts";

export const checks: Readonly<Record<string, (play: Play) => Promise<void>>> = {
  async "basic-resourceclaimtemplate"({ apply, running, devices }) {
    await apply();
    await running("pod0", "pod1");
    const both = [...(await devices("pod0")), ...(await devices("pod1"))];
    assert.equal(new Set(both).size, 2, String(both));
  },

  async "basic-multiple-requests"({ apply, running, devices }) {
    await apply();
    await running("pod0");
    assert.equal((await devices("pod0")).length, 2);
  },

  async "basic-shared-claim-across-containers"({ apply, running, devices, variables }) {
    await apply();
    await running("pod0");
    const [gpu, ...more] = await devices("pod0", "ctr0");
    assert.deepEqual([await devices("pod0", "ctr1"), more], [[gpu], []]);
    const prefix = `GPU_DEVICE_${gpu!.slice("gpu-".length)}`;
    for (const container of ["ctr0", "ctr1"]) {
      const env = await variables("pod0", container);
      assert.equal(env[`${prefix}_SHARING_STRATEGY`], "TimeSlicing");
      assert.equal(env[`${prefix}_TIMESLICE_INTERVAL`], "Default");
    }
  },

  async "basic-shared-claim-across-pods"({ apply, running, devices, claims }) {
    await apply();
    await running("pod0", "pod1");
    const gpus = await devices("pod0");
    assert.equal(gpus.length, 1);
    assert.deepEqual(await devices("pod1"), gpus);
    const { reservedFor = [] } = (await claims()).get("single-gpu")!.status;
    assert.deepEqual(reservedFor.map(({ name }) => name).sort(), ["pod0", "pod1"]);
  },

  async "initcontainer-shared-gpu"({ apply, running, devices }) {
    await apply();
    await running("pod0");
    const gpus = await devices("pod0", "init0");
    assert.equal(gpus.length, 1);
    assert.deepEqual(await devices("pod0", "ctr0"), gpus);
  },

  async "basic-resourceclaim-opaque-config"({ apply, running, devices, variables }) {
    await apply();
    await running("pod0");
    const shared = async (group: string): Promise<string> => {
      const [gpu, ...more] = await devices("pod0", `${group}-ctr0`);
      assert.deepEqual([await devices("pod0", `${group}-ctr1`), more], [[gpu], []]);
      return gpu!;
    };
    const [sliced, partitioned] = [await shared("ts"), await shared("sp")];
    assert.notEqual(sliced, partitioned);
    const prefix = (gpu: string) => `GPU_DEVICE_${gpu.slice("gpu-".length)}`;
    const ts = await variables("pod0", "ts-ctr1");
    assert.equal(ts[`${prefix(sliced)}_SHARING_STRATEGY`], "TimeSlicing");
    assert.equal(ts[`${prefix(sliced)}_TIMESLICE_INTERVAL`], "Long");
    const sp = await variables("pod0", "sp-ctr1");
    assert.equal(sp[`${prefix(partitioned)}_SHARING_STRATEGY`], "SpacePartitioning");
    assert.equal(sp[`${prefix(partitioned)}_PARTITION_COUNT`], "10");
  },

  async "cel-selector"({ apply, running, devices }) {
    await apply();
    await running("pod0");
    assert.equal((await devices("pod0")).length, 1);
  },

  async "prioritized-alternatives"({ apply, running, devices, claims }) {
    await apply();
    await running("pod0", "pod1");
    assert.notDeepEqual(await devices("pod0"), await devices("pod1"));
    const all = await claims();
    const requests = ["pod0", "pod1"].map((pod) => results(all.get(pod)).map(({ request }) => request));
    assert.deepEqual(requests, [["gpu/older-gpu"], ["gpu/latest-gpu"]]);
  },

  async "admin-access"({ cluster, apply, running, devices, variables }) {
    await cluster.kubectl("apply", "-f", join(folder, "basic-resourceclaimtemplate"));
    try {
      const users = ["-n=basic-resourceclaimtemplate", "--for=condition=Ready", "pod/pod0", "pod/pod1"];
      await cluster.kubectl("wait", "--timeout=60s", ...users);
      await apply();
      await running("pod0");
      const gpus = await devices("pod0");
      assert.deepEqual(
        [...gpus].sort(),
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map((gpu) => `gpu-${gpu}`),
      );
      assert.equal((await variables("pod0"))["DRA_ADMIN_ACCESS"], "true");
    } finally {
      await cluster.kubectl("delete", "namespace", "basic-resourceclaimtemplate");
    }
  },

  async "extended-resource-request"({ cluster, apply, running, unschedulable, devices, driver }) {
    await apply();
    await running("pod0");
    assert.equal((await devices("pod0")).length, 1);
    const { status } = await getJSON(cluster, "pod", "pod0", "-n=extended-resource-request");
    assert.ok(status.extendedResourceClaimStatus.resourceClaimName);
    await unschedulable("pod1");
    await driver("example:extended-resource=example.com/gpu");
    await running("pod1");
    assert.notDeepEqual(await devices("pod0"), await devices("pod1"));
    await driver("example");
  },

  async "device-taint-pod-noschedule"({ cluster, apply, running, unschedulable, phase }) {
    await apply("1-running-pod.yaml");
    await running("pod-keeps-running");
    await apply("2-device-taint-rule.yaml");
    try {
      await apply("3-new-pod.yaml");
      await unschedulable("pod-no-schedule");
      assert.equal(await phase("pod-keeps-running"), "Running");
    } finally {
      await cluster.kubectl("delete", "devicetaintrule", "device-taint-pod-noschedule");
    }
    await running("pod-no-schedule");
  },

  async "device-taint-pod-noexecute"({ cluster, apply, running, unschedulable }) {
    await apply("1-running-pod.yaml");
    await running("pod-to-be-evicted");
    await apply("2-device-taint-rule.yaml");
    try {
      await evicted(cluster, "device-taint-pod-noexecute", "pod-to-be-evicted");
      await apply("3-new-pod.yaml");
      await unschedulable("pod-no-execute");
    } finally {
      await cluster.kubectl("delete", "devicetaintrule", "device-taint-pod-noexecute");
    }
  },

  async "device-taint-pod-toleration"({ cluster, apply, running, unschedulable, devices }) {
    await apply("1-device-taint-rule.yaml");
    try {
      await apply("2-pods.yaml");
      await running("pod-with-toleration");
      assert.equal((await devices("pod-with-toleration")).length, 1);
      await unschedulable("pod-without-toleration");
    } finally {
      await cluster.kubectl("delete", "devicetaintrule", "device-taint-pod-toleration");
    }
  },

  async "device-taint-configurable-pod-eviction-time"({ cluster, apply, running, phase }) {
    const namespace = "device-taint-configurable-pod-eviction-time";
    await apply("1-pods.yaml");
    await running("pod-no-toleration", "pod-with-toleration", "pod-with-300s-toleration");
    await apply("2-device-taint-rule.yaml");
    try {
      await evicted(cluster, namespace, "pod-no-toleration");
      for (const pod of ["pod-with-toleration", "pod-with-300s-toleration"])
        assert.equal(await phase(pod), "Running");
    } finally {
      await cluster.kubectl("delete", "devicetaintrule", namespace);
    }
  },

  async "podgroup-resourceclaimtemplate"({ cluster, apply, devices }) {
    await apply();
    const namespace = "-n=podgroup-resourceclaimtemplate";
    const gpus = [];
    for (const group of ["group-1", "group-2"]) {
      await cluster.kubectl("rollout", "status", namespace, `deployment/${group}`, "--timeout=60s");
      const { items } = await getJSON(cluster, "pods", namespace, `-l=app=${group}`);
      const of = [];
      for (const { metadata } of items) of.push(...(await devices(metadata.name)));
      assert.deepEqual(of, [of[0], of[0]]);
      gpus.push(of[0]);
    }
    assert.notEqual(gpus[0], gpus[1]);
  },

  async "partitionable-devices"({ apply, running, devices }) {
    await apply();
    await running("pod0");
    const partitions = await devices("pod0");
    assert.equal(new Set(partitions).size, 2);
    for (const partition of partitions) assert.match(partition, /^gpu-\d-partition-\d$/);
  },

  async "gpu-allow-multiple-allocations"(play) {
    await shareOne(play, /^gpu-\d$/, { MEMORY: "16Gi", COMPUTE: "20" });
  },

  async "gpu-allow-multiple-allocations-partitionable"(play) {
    await shareOne(play, /^gpu-\d-partition-\d$/, { MEMORY: "8Gi", COMPUTE: "10" });
  },

  async "binding-conditions"({ cluster, apply, running, phase, devices, claims }) {
    const controller = ["-n=dra-tutorial", "deployment/dra-example-controller"];
    await cluster.kubectl("rollout", "status", ...controller, "--timeout=60s");
    await cluster.kubectl("scale", ...controller, "--replicas=0");
    const label = "-l=app.kubernetes.io/name=dra-example-controller";
    await cluster.kubectl("wait", "-n=dra-tutorial", "--for=delete", "pod", label, "--timeout=60s");
    await apply();
    const allocated = await eventually("the scheduler has chosen a GPU", async () => {
      const claim = (await claims()).get("pod0");
      return results(claim).length > 0 && claim;
    });
    assert.equal(allocated.status.devices, undefined);
    assert.equal(await phase("pod0"), "Pending");
    await cluster.kubectl("scale", ...controller, "--replicas=1");
    await running("pod0");
    assert.equal((await devices("pod0")).length, 1);
    const [device] = (await claims()).get("pod0")!.status.devices!;
    assert.deepEqual(
      device!.conditions!.map(({ type, status, reason, message }) => ({ type, status, reason, message })),
      [{ type: "BindingConditions", status: "True", reason: "Ready", message: "Device is ready" }],
    );
  },

  async "net-consumable-capacity"({ apply, running, variables, claims }) {
    await apply();
    await running("pod0", "pod1");
    const rates = async (pod: string) => {
      const env = await variables(pod);
      return [env["NET_DEVICE_0_INGRESS_RATE"], env["NET_DEVICE_0_EGRESS_RATE"]];
    };
    assert.deepEqual(await rates("pod0"), ["10000000000", "5000000000"]);
    assert.deepEqual(await rates("pod1"), ["5000000000", "5000000000"]);
    const all = await claims();
    const shares = ["pod0", "pod1"].flatMap((pod) => results(all.get(pod)));
    assert.deepEqual(
      shares.map(({ device }) => device),
      ["nic-0", "nic-0"],
    );
    assert.equal(new Set(shares.map(({ shareID }) => shareID)).size, 2);
  },

  async "native-resource-request"({ cluster, apply, running, variables, claims }) {
    await apply();
    await running("pod0");
    const env = await variables("pod0");
    assert.equal(env["CPU_DEVICE_0"], "numa-0");
    assert.equal(env["CPU_DEVICE_0_CONSUMED_CPU"], "750m");
    const shares = results((await claims()).get("pod0"));
    assert.deepEqual(
      shares.map(({ request, device }) => [request, device]),
      [
        ["cpu0", "numa-0"],
        ["cpu1", "numa-0"],
      ],
    );
    assert.equal(new Set(shares.map(({ shareID }) => shareID)).size, 2);
    // They count as CPU of the node: the scheduler says so, and the kubelet bounds the pod by the sum.
    const { status } = await getJSON(cluster, "pod", "pod0", "-n=native-resource-request");
    const [counted] = status.nodeAllocatableResourceClaimStatuses;
    assert.deepEqual(counted.mapping, [{ name: "cpu", quantity: "1500m" }]);
    assert.equal(status.allocatedResources.cpu, "1700m");
    assert.equal(status.resources.limits.cpu, "1700m");
  },
};

/** Checks that two pods share one device, each with `amounts` of memory and compute. */
async function shareOne(
  { apply, running, devices, variables, claims }: Play,
  name: RegExp,
  amounts: Readonly<Record<string, string>>,
): Promise<void> {
  await apply();
  await running("pod0", "pod1");
  const [device, ...more] = await devices("pod0");
  assert.match(device!, name);
  assert.deepEqual([await devices("pod1"), more], [[device], []]);
  const prefix = `GPU_DEVICE_${device!.slice("gpu-".length)}`.toUpperCase().replaceAll("-", "_");
  for (const pod of ["pod0", "pod1"]) {
    const env = await variables(pod);
    for (const [amount, value] of Object.entries(amounts)) assert.equal(env[`${prefix}_${amount}`], value);
  }
  const all = await claims();
  const shares = ["part0", "part1"].flatMap((claim) => results(all.get(claim)));
  assert.equal(new Set(shares.map(({ shareID }) => shareID)).size, 2);
}
