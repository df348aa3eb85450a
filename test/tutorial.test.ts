import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { layoutOf } from "@dray/cluster";
import { eventually } from "@dray/testing/eventually";
import { parse } from "yaml";
import {
  dray,
  manifests,
  mounts,
  processesOf,
  startCluster,
  type TestCluster,
  withoutKubectl,
} from "./harness.ts";

/**
 * The tutorial, step by step with the real kubectl. Each step's output is checked against what the tutorial
 * shows; only names, ages and ids differ.
 */
const withKubectl = { skip: withoutKubectl };

let cluster: TestCluster;
before(async () => {
  if (withoutKubectl) return;
  cluster = await startCluster("--nodes", "2");
});
after(async () => {
  await cluster?.down();
});
const label = "app.kubernetes.io/name=dra-example-driver";
const apply = (file: string): Promise<string> =>
  cluster.kubectl("apply", "--server-side", "-f", join(manifests, file));

test("explores the initial state", withKubectl, async () => {
  assert.equal(await cluster.shell("kubectl get deviceclasses"), "No resources found\n");
  assert.equal(await cluster.shell("kubectl get resourceslices"), "No resources found\n");
  assert.equal(
    await cluster.shell("kubectl get resourceclaims -A; kubectl get resourceclaimtemplates -A"),
    "No resources found\nNo resources found\n",
  );
});

test("installs the driver", withKubectl, async () => {
  assert.equal(
    await cluster.kubectl("create", "namespace", "dra-tutorial"),
    "namespace/dra-tutorial created\n",
  );
  const applied = [
    await apply("deviceclass.yaml"),
    await apply("serviceaccount.yaml"),
    await apply("clusterrole.yaml"),
    await apply("clusterrolebinding.yaml"),
    await apply("priorityclass.yaml"),
    await apply("daemonset.yaml"),
  ];
  assert.deepEqual(applied, [
    "deviceclass.resource.k8s.io/gpu.example.com serverside-applied\n",
    "serviceaccount/dra-example-driver-service-account serverside-applied\n",
    "clusterrole.rbac.authorization.k8s.io/dra-example-driver-role serverside-applied\n",
    "clusterrolebinding.rbac.authorization.k8s.io/dra-example-driver-role-binding serverside-applied\n",
    "priorityclass.scheduling.k8s.io/dra-driver-high-priority serverside-applied\n",
    "daemonset.apps/dra-example-driver-kubeletplugin serverside-applied\n",
  ]);
});

test("verifies the installation", withKubectl, async () => {
  const pods = await eventually("two driver pods run", async () => {
    const lines = (await cluster.kubectl("get", "pod", "-l", label, "-n", "dra-tutorial"))
      .trimEnd()
      .split("\n");
    if (!/^NAME +READY +STATUS +RESTARTS +AGE$/.test(lines[0]!)) return undefined;
    const running = lines.filter((line) =>
      /^dra-example-driver-kubeletplugin-[a-z0-9]{5} +1\/1 +Running +0 +\d+s$/.test(line),
    );
    return running.length === 2 && lines;
  });
  assert.equal(pods.length, 3);
  const priorities = await cluster.kubectl(
    "get",
    "pod",
    "-l",
    label,
    "-n",
    "dra-tutorial",
    "-o",
    "jsonpath={.items[*].spec.priority}",
  );
  assert.equal(priorities, "1000000 1000000");
  const slices = await eventually("two slices", async () => {
    const lines = (await cluster.kubectl("get", "resourceslices")).trimEnd().split("\n");
    return lines.length === 3 && lines;
  });
  assert.match(slices[0]!, /^NAME +NODE +DRIVER +POOL +AGE$/);
  for (const node of ["worker-1", "worker-2"]) {
    const line = new RegExp(
      `^${node}-gpu\\.example\\.com-[a-z0-9]{5} +${node} +gpu\\.example\\.com +${node} +\\d+s$`,
    );
    assert.ok(
      slices.some((slice) => line.test(slice)),
      `${node} in\n${slices.join("\n")}`,
    );
  }
  const devices = await cluster.kubectl(
    "get",
    "resourceslices",
    "-o",
    "jsonpath={.items[0].spec.devices[*].name}",
  );
  assert.equal(devices, "gpu-0 gpu-1 gpu-2 gpu-3 gpu-4 gpu-5 gpu-6 gpu-7 gpu-8");
});

test("claims a device and runs a pod with it", withKubectl, async () => {
  assert.equal(
    await apply("example/resourceclaim.yaml"),
    "resourceclaim.resource.k8s.io/some-gpu serverside-applied\n",
  );
  assert.match(
    await cluster.kubectl("get", "resourceclaims", "-n", "dra-tutorial"),
    /^some-gpu +pending +\d+s$/m,
  );
  assert.equal(await apply("example/pod.yaml"), "pod/pod0 serverside-applied\n");
  await eventually("pod0 runs", async () =>
    /^pod0 +1\/1 +Running +0 +\d+s$/m.test(await cluster.kubectl("get", "pod", "pod0", "-n", "dra-tutorial")),
  );
});

test("explores the state", withKubectl, async () => {
  const devices = await cluster.shell(
    `kubectl logs pod0 -c ctr0 -n dra-tutorial | grep -E "GPU_DEVICE_[0-9]+=" | grep -v "RESOURCE_CLAIM"`,
  );
  assert.match(devices, /^declare -x GPU_DEVICE_0="gpu-\d"\n$/);
  const claims = await cluster.kubectl("get", "resourceclaims", "-n", "dra-tutorial");
  assert.match(claims, /^NAME +STATE +AGE\nsome-gpu +allocated,reserved +\d+s\n$/);

  const claim = parse(
    await cluster.kubectl("get", "resourceclaim", "some-gpu", "-n", "dra-tutorial", "-o", "yaml"),
  );
  const pod = JSON.parse(await cluster.kubectl("get", "pod", "pod0", "-n", "dra-tutorial", "-o", "json"));
  const device = /"(.*)"/.exec(devices)?.[1];
  const node = pod.spec.nodeName;
  assert.deepEqual(claim, {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: {
      creationTimestamp: claim.metadata.creationTimestamp,
      finalizers: ["resource.kubernetes.io/delete-protection"],
      name: "some-gpu",
      namespace: "dra-tutorial",
      resourceVersion: claim.metadata.resourceVersion,
      uid: claim.metadata.uid,
    },
    spec: {
      devices: {
        requests: [
          {
            exactly: {
              allocationMode: "ExactCount",
              count: 1,
              deviceClassName: "gpu.example.com",
              selectors: [
                {
                  cel: {
                    expression: "device.capacity['gpu.example.com'].memory.compareTo(quantity('10Gi')) >= 0",
                  },
                },
              ],
            },
            name: "some-gpu",
          },
        ],
      },
    },
    status: {
      allocation: {
        // Written since 1.36; the page was made before that.
        allocationTimestamp: claim.status.allocation.allocationTimestamp,
        devices: { results: [{ device, driver: "gpu.example.com", pool: node, request: "some-gpu" }] },
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }],
        },
      },
      reservedFor: [{ name: "pod0", resource: "pods", uid: pod.metadata.uid }],
    },
  });
  assert.match(claim.metadata.creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

  const log = await cluster.kubectl("logs", "-l", label, "-n", "dra-tutorial");
  const prefix = String.raw`^I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.-]+:\d+\] `;
  assert.match(log, new RegExp(`${prefix}PrepareResourceClaims is called: number of claims: 1$`, "m"));
  const { uid } = claim.metadata;
  const prepared = `Returning newly prepared devices for claim '${uid}': [{[some-gpu] ${node} ${device} [k8s.gpu.example.com/gpu=common k8s.gpu.example.com/gpu=${uid}-${device}]}]`;
  assert.match(log, new RegExp(`${prefix}${RegExp.escape(prepared)}$`, "m"));
});

test("deletes the pod", withKubectl, async () => {
  assert.equal(await cluster.kubectl("delete", "pod", "pod0", "-n", "dra-tutorial"), 'pod "pod0" deleted\n');
  await eventually("the claim is pending", async () =>
    /^some-gpu +pending +\d+s$/m.test(await cluster.kubectl("get", "resourceclaims", "-n", "dra-tutorial")),
  );
  await eventually("the driver has unprepared the claim", async () =>
    /UnprepareResourceClaims is called: number of claims: 1$/m.test(
      await cluster.kubectl("logs", "-l", label, "-n", "dra-tutorial"),
    ),
  );
});

test("cleans up", withKubectl, async () => {
  const deleted = [
    await cluster.kubectl("delete", "namespace", "dra-tutorial"),
    await cluster.kubectl("delete", "deviceclass", "gpu.example.com"),
    await cluster.kubectl("delete", "clusterrole", "dra-example-driver-role"),
    await cluster.kubectl("delete", "clusterrolebinding", "dra-example-driver-role-binding"),
    await cluster.kubectl("delete", "priorityclass", "dra-driver-high-priority"),
  ];
  assert.deepEqual(deleted, [
    'namespace "dra-tutorial" deleted\n',
    'deviceclass.resource.k8s.io "gpu.example.com" deleted\n',
    'clusterrole.rbac.authorization.k8s.io "dra-example-driver-role" deleted\n',
    'clusterrolebinding.rbac.authorization.k8s.io "dra-example-driver-role-binding" deleted\n',
    'priorityclass.scheduling.k8s.io "dra-driver-high-priority" deleted\n',
  ]);
  const kinds =
    "pods,daemonsets,controllerrevisions,serviceaccounts,configmaps,resourceclaims,resourceclaimtemplates,events";
  assert.equal(
    await cluster.shell(`kubectl get ${kinds} -n dra-tutorial`),
    "No resources found in dra-tutorial namespace.\n",
  );
  await eventually(
    "the slices are gone",
    async () => (await cluster.shell("kubectl get resourceslices")) === "No resources found\n",
    35_000,
  );
});

test("dray down leaves nothing", withKubectl, async () => {
  const { runDir } = layoutOf(cluster.dataDir);
  const down = await dray(["down", "--data-dir", cluster.dataDir]);
  assert.equal(down.code, 0, down.stderr);
  assert.deepEqual(processesOf(cluster.dataDir), []);
  assert.deepEqual(processesOf(runDir), []);
  assert.equal(existsSync(runDir), false);
  assert.ok(!mounts().includes(runDir));
});
