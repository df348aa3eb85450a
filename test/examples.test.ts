import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import {
  getJSON,
  gpuOf,
  installDriver,
  repository,
  startCluster,
  type TestCluster,
  withoutKubectl,
} from "./harness.ts";

/** The examples, each tried with the real kubectl on one cluster. */
const withKubectl = { skip: withoutKubectl };

let cluster: TestCluster;
before(async () => {
  if (withoutKubectl) return;
  const alpha = [
    "--feature-gates=DRAResourcePoolStatus=true",
    "--runtime-config=resource.k8s.io/v1alpha3=true",
  ];
  cluster = await startCluster("--nodes", "2", ...alpha);
  await installDriver(cluster);
});
after(async () => {
  await cluster?.down();
});
const apply = (file: string): Promise<string> =>
  cluster.kubectl("apply", "-f", join(repository, "examples", file));
const running = (
  selector: string,
  count: number,
): Promise<{ metadata: { name: string }; spec: { nodeName: string } }[]> =>
  eventually(`${count} pods ${selector} run`, async () => {
    const { items } = await getJSON(cluster, "pods", "-l", selector);
    return (
      items.length === count &&
      items.every((pod: { status: { phase: string } }) => pod.status.phase === "Running") &&
      items
    );
  });

test("the driver of one node does not write the slices of another", withKubectl, async () => {
  const { items } = await getJSON(
    cluster,
    "pods",
    "-n=dra-tutorial",
    "--field-selector=spec.nodeName=worker-1",
  );
  const account = "dra-example-driver-service-account";
  const { name, uid } = items[0].metadata;
  const bound = ["--bound-object-kind=Pod", `--bound-object-name=${name}`, `--bound-object-uid=${uid}`];
  const token = await cluster.kubectl("create", "token", account, "-n=dra-tutorial", ...bound);
  const config = JSON.parse(await cluster.kubectl("config", "view", "--raw", "--flatten", "-o", "json"));
  const driver = join(cluster.folder, "driver.kubeconfig");
  writeFileSync(
    driver,
    JSON.stringify({ ...config, users: [{ name: config.users[0].name, user: { token: token.trim() } }] }),
  );
  const as = ["--kubeconfig", driver];
  const slices = (await getJSON(cluster, "resourceslices")).items;
  const [own, other] = ["worker-1", "worker-2"].map((node) =>
    slices.find((slice: { spec: { nodeName: string } }) => slice.spec.nodeName === node),
  );
  const label = (slice: { metadata: { name: string } }) =>
    cluster.tryKubectl([...as, "label", "resourceslice", slice.metadata.name, "seen=yes", "--overwrite"]);
  assert.equal((await label(own)).code, 0);
  const policy = "resourceslices-policy-dra-example-driver";
  const why = `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: this user running on node 'worker-1' may not modify resourceslices on node 'worker-2'`;
  const denied = await label(other);
  assert.equal(denied.code, 1);
  assert.equal(denied.stderr, `The resourceslices "${other.metadata.name}" is invalid: : ${why}\n`);
  const deletion = await cluster.tryKubectl([...as, "delete", "resourceslice", other.metadata.name]);
  assert.ok(deletion.stderr.includes(why), deletion.stderr);
  await cluster.kubectl("delete", "validatingadmissionpolicybinding", policy);
  assert.equal((await label(other)).code, 0);
  await apply("dra/driver-install/validatingadmissionpolicy.yaml");
});

test("three replicas get three devices, and their claims go with them", withKubectl, async () => {
  await apply("high-vram-gpu/deviceclass.yaml");
  await apply("high-vram-gpu/deployment.yaml");
  assert.match(
    await cluster.kubectl("rollout", "status", "deployment/gpu-worker", "--timeout=60s"),
    /successfully rolled out/,
  );
  const pods = await running("app=gpu-worker", 3);
  const devices = await Promise.all(
    pods.map(async (pod) => `${pod.spec.nodeName}/${await gpuOf(cluster, pod.metadata.name)}`),
  );
  assert.equal(new Set(devices).size, 3, devices.join(", "));
  const claims = await getJSON(cluster, "resourceclaims");
  assert.equal(claims.items.length, 3);
  for (const claim of claims.items) {
    assert.match(claim.metadata.name, /^gpu-worker-[a-z0-9]+-[a-z0-9]{5}-ephemeral-gpu-[a-z0-9]{5}$/);
    assert.equal(claim.metadata.ownerReferences[0].kind, "Pod");
  }
  await cluster.kubectl("delete", "deployment", "gpu-worker");
  await eventually(
    "the claims are gone",
    async () => (await getJSON(cluster, "resourceclaims")).items.length === 0,
  );
});

test("a pod gets a GPU of a class by property, and a request says what is left", withKubectl, async () => {
  await apply("high-vram-gpu/resourceclaim.yaml");
  await apply("high-vram-gpu/pod.yaml");
  assert.match(await gpuOf(cluster, "ai-workload"), /^gpu-\d$/);
  await apply("pool-status/request.yaml");
  const request = "resourcepoolstatusrequest/gpus";
  await cluster.kubectl("wait", "--for=condition=Complete", request, "--timeout=60s");
  const { status } = await getJSON(cluster, "resourcepoolstatusrequest", "gpus");
  const used = (await getJSON(cluster, "pod", "ai-workload")).spec.nodeName;
  const fields = ["nodeName", "totalDevices", "allocatedDevices", "availableDevices"];
  assert.deepEqual(
    status.pools.map((pool: Record<string, unknown>) => fields.map((field) => pool[field])),
    ["worker-1", "worker-2"].map((node) => (node === used ? [node, 9, 1, 8] : [node, 9, 0, 9])),
  );
  await cluster.kubectl("delete", "pod", "ai-workload");
  await cluster.kubectl("delete", "resourceclaim", "my-gpu-claim");
});

test("a pod that ends frees its device", withKubectl, async () => {
  await apply("gpu-class/gpu-class.yaml");
  await eventually(
    "the pod has succeeded",
    async () => (await getJSON(cluster, "pod", "gpu-pod")).status.phase === "Succeeded",
  );
  assert.match(await gpuOf(cluster, "gpu-pod"), /^gpu-\d$/);
  await eventually("the claim is pending", async () => {
    const claim = await getJSON(cluster, "resourceclaim", "gpu-class-claim");
    return claim.status.allocation === undefined && claim.status.reservedFor === undefined;
  });
  await cluster.kubectl("delete", "-f", join(repository, "examples", "gpu-class", "gpu-class.yaml"));
});

const deleted = (file: string): Promise<string> =>
  cluster.kubectl("delete", "-f", join(repository, "examples", file), "--ignore-not-found");
const noClaims = (): Promise<boolean> =>
  eventually(
    "the claims are gone",
    async () => (await getJSON(cluster, "resourceclaims")).items.length === 0,
  );

test("a StatefulSet gives each name its volume and its device, in order", withKubectl, async () => {
  await apply("workloads/statefulset.yaml");
  await cluster.kubectl("rollout", "status", "statefulset/inference", "--timeout=60s");
  const devices = await Promise.all(
    ["inference-0", "inference-1"].map(async (name) => {
      const { spec } = await getJSON(cluster, "pod", name);
      return `${spec.nodeName}/${await gpuOf(cluster, name)}`;
    }),
  );
  assert.equal(new Set(devices).size, 2, devices.join(", "));
  const budget = await eventually("the budget", async () => {
    const { status } = await getJSON(cluster, "pdb", "inference");
    return status?.disruptionsAllowed === 1 && status;
  });
  assert.deepEqual([budget.currentHealthy, budget.desiredHealthy, budget.expectedPods], [2, 1, 2]);
  await cluster.kubectl("scale", "statefulset", "inference", "--replicas=1");
  await eventually("only the first stays", async () => {
    const { items } = await getJSON(cluster, "pods", "-l", "app=inference");
    return items.length === 1 && items[0].metadata.name === "inference-0";
  });
  await deleted("workloads/statefulset.yaml");
  await noClaims();
  const volumes = await cluster.kubectl("get", "pvc", "-o", "name");
  assert.deepEqual(volumes.trim().split("\n").sort(), [
    "persistentvolumeclaim/models-inference-0",
    "persistentvolumeclaim/models-inference-1",
  ]);
  await cluster.kubectl("delete", "pvc", "--all");
});

test("a Job runs a pod with a device for each index, and frees the devices", withKubectl, async () => {
  await apply("workloads/job.yaml");
  await cluster.kubectl("wait", "job/training", "--for=condition=Complete", "--timeout=60s");
  const { status } = await getJSON(cluster, "job", "training");
  assert.deepEqual([status.succeeded, status.completedIndexes], [4, "0-3"]);
  const { items } = await getJSON(cluster, "pods", "-l", "app=training");
  const logs = await Promise.all(
    items.map((pod: { metadata: { name: string } }) => cluster.kubectl("logs", pod.metadata.name)),
  );
  assert.deepEqual(logs.map((log) => /shard \d/.exec(log)?.[0]).sort(), [
    "shard 0",
    "shard 1",
    "shard 2",
    "shard 3",
  ]);
  for (const log of logs) assert.match(log, /GPU_DEVICE/);
  // Claims of pods that have ended go.
  await noClaims();
  await deleted("workloads/job.yaml");
});

test("a CronJob starts a Job at its time", withKubectl, async () => {
  await apply("workloads/cronjob.yaml");
  await cluster.kubectl("patch", "cronjob", "nightly", "-p", '{"spec":{"schedule":"@every 1s"}}');
  await eventually("a Job has ended", async () => {
    const { status } = await getJSON(cluster, "cronjob", "nightly");
    return status?.lastSuccessfulTime;
  });
  await cluster.kubectl("patch", "cronjob", "nightly", "-p", '{"spec":{"suspend":true}}');
  const { items } = await getJSON(cluster, "pods", "-l", "app=nightly");
  assert.match(await cluster.kubectl("logs", items[0].metadata.name), /GPU_DEVICE/);
  await deleted("workloads/cronjob.yaml");
  await noClaims();
});

test("two pods that share a claim see the same device", withKubectl, async () => {
  await apply("shared-claim/shared-claim.yaml");
  const [first, second] = await running("example=shared-claim", 2);
  assert.equal(first?.spec.nodeName, second?.spec.nodeName);
  assert.equal(await gpuOf(cluster, "first"), await gpuOf(cluster, "second"));
  const claim = await getJSON(cluster, "resourceclaim", "shared-gpu");
  assert.equal(claim.status.reservedFor.length, 2);
  await cluster.kubectl("delete", "pod", "first");
  const still = await getJSON(cluster, "resourceclaim", "shared-gpu");
  assert.ok(still.status.allocation, "a claim in use lost its device");
  await cluster.kubectl(
    "delete",
    "-f",
    join(repository, "examples", "shared-claim", "shared-claim.yaml"),
    "--ignore-not-found",
  );
});

test("a pod that knows of no claims gets devices by an extended resource", withKubectl, async () => {
  const file = "extended-resource/extended-resource.yaml";
  await apply(file);
  await eventually("the pod runs", async () => {
    const { status } = await getJSON(cluster, "pod", "two-gpus");
    return status.phase === "Running";
  });
  const log = await eventually("it has said which devices", () => cluster.kubectl("logs", "two-gpus"));
  assert.equal(log.match(/^GPU_DEVICE_\d=gpu-\d$/gm)?.length, 2, log);
  const { items } = await getJSON(cluster, "resourceclaims");
  assert.equal(items.length, 1);
  assert.equal(items[0].status.allocation.devices.results.length, 2);
  const { status } = await getJSON(cluster, "pod", "two-gpus");
  assert.equal(status.extendedResourceClaimStatus.resourceClaimName, items[0].metadata.name);
  await cluster.kubectl("delete", "--grace-period=1", "-f", join(repository, "examples", file));
  await eventually(
    "the claim is gone",
    async () => (await getJSON(cluster, "resourceclaims")).items.length === 0,
  );
});

test("a claim that nothing satisfies leaves its pod Pending, with the reason", withKubectl, async () => {
  await apply("unsatisfiable/unsatisfiable.yaml");
  const event = await eventually("an event says why", async () => {
    const { items } = await getJSON(
      cluster,
      "events",
      "--field-selector",
      "involvedObject.name=wants-huge-gpu,reason=FailedScheduling",
    );
    return items[0];
  });
  assert.equal(event.type, "Warning");
  assert.match(event.message, /^0\/2 nodes are available: 2 cannot allocate all claims\./);
  const pod = await getJSON(cluster, "pod", "wants-huge-gpu");
  assert.equal(pod.status.phase, "Pending");
  const condition = pod.status.conditions.find((c: { type: string }) => c.type === "PodScheduled");
  assert.deepEqual([condition.status, condition.reason], ["False", "Unschedulable"]);
  assert.match(
    await cluster.kubectl("describe", "pod", "wants-huge-gpu"),
    /FailedScheduling.*cannot allocate all claims/,
  );
  await cluster.kubectl("delete", "-f", join(repository, "examples", "unsatisfiable", "unsatisfiable.yaml"));
});

test("a claim of a class that is not there waits, and its pod says so", withKubectl, async () => {
  const claim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "no-class" },
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "missing" } }] } },
  };
  const container = { name: "c", image: "x", command: ["true"], resources: { claims: [{ name: "g" }] } };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "no-class" },
    spec: { containers: [container], resourceClaims: [{ name: "g", resourceClaimName: "no-class" }] },
  };
  for (const object of [claim, pod]) {
    const applied = await cluster.tryKubectl(["apply", "-f", "-"], JSON.stringify(object));
    assert.equal(applied.code, 0, applied.stderr);
  }
  await eventually("the pod says which class is missing", async () => {
    const { status } = await getJSON(cluster, "pod", "no-class");
    const condition = status.conditions?.find((c: { type: string }) => c.type === "PodScheduled");
    return /request r: device class missing does not exist/.test(condition?.message ?? "");
  });
  await cluster.kubectl("delete", "pod,resourceclaim", "no-class");
});

test(
  "pods that cannot be created are an event of their owner, and do not affect others",
  withKubectl,
  async () => {
    const container = { name: "c", image: "x", command: ["true"] };
    const template = {
      metadata: { labels: { app: "nope" } },
      spec: { priorityClassName: "nope", containers: [container] },
    };
    const spec = { selector: { matchLabels: { app: "nope" } }, template };
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "nope" }, spec };
    assert.equal((await cluster.tryKubectl(["apply", "-f", "-"], JSON.stringify(deployment))).code, 0);
    await eventually("events say why, again and again", async () => {
      const { items } = await getJSON(cluster, "events", "--field-selector", "reason=FailedCreate");
      const failures = items.filter((event: { message: string }) =>
        event.message.includes("no PriorityClass with name nope"),
      );
      return failures.reduce((sum: number, event: { count: number }) => sum + event.count, 0) > 4;
    });
    assert.match(await cluster.kubectl("get", "deployment", "nope"), /0\/1/);
    await cluster.kubectl("delete", "deployment", "nope");
  },
);

test("an image without a command waits, with a reason that says what to do", withKubectl, async () => {
  await cluster.kubectl("run", "imageless", "--image=example.com/tool:v1");
  const pod = await eventually("the container waits", async () => {
    const pod = await getJSON(cluster, "pod", "imageless");
    return pod.status.containerStatuses?.[0]?.state?.waiting?.message && pod;
  });
  assert.match(
    pod.status.containerStatuses[0].state.waiting.message,
    /--image 'example\.com\/tool:v1=COMMAND'/,
  );
  await eventually("a Warning event says so too", async () => {
    const { items } = await getJSON(
      cluster,
      "events",
      "--field-selector",
      "involvedObject.name=imageless,type=Warning",
    );
    return items.some((event: { message: string }) => event.message.includes("--image"));
  });
  await cluster.kubectl("delete", "pod", "imageless");
});
