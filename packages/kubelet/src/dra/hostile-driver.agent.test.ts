import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { StatusError } from "@dray/api";
import { Event, Pod, type PodStatus, ServiceAccount } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { type Client, type Log, silentLog } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { partial } from "@dray/testing/partial";
import { StatusReporter } from "../status/status-reporter.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { type TestDriver, testDriver } from "../testing/driver.ts";

const driverName = "gpu.example.com";
let cluster: TestCluster;
let driver: TestDriver;
/** Length of the longest text in the agent's log. */
let longest = 0;
before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  const note: Log["warn"] = (fields, message) => {
    for (const one of [message, ...Object.values(fields)]) {
      const texts = one instanceof Error ? [one.message, String(one.cause)] : [String(one)];
      for (const { length } of texts) longest = Math.max(longest, length);
    }
  };
  await cluster.node("n1", { log: { ...silentLog, info: note, warn: note, error: note } });
  driver = await testDriver(cluster.rootDir("n1"), driverName);
});
after(async () => {
  await cluster.close();
  await driver.close();
});

async function podWithClaim(name: string): Promise<void> {
  const { admin } = cluster;
  const pod = await admin.resource(Pod).create(
    podOn("n1", name, {
      resourceClaims: [{ name: "gpu", resourceClaimName: name }],
      containers: [{ name: "main", command: ["sleep", "1000"], resources: { claims: [{ name: "gpu" }] } }],
    }),
  );
  const claims = admin.resource(ResourceClaim);
  const requests = [{ name: "gpu", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount" } }];
  const claim = await claims.create({
    metadata: { namespace: "default", name },
    spec: { devices: { requests } },
  } as never);
  const results = [{ request: "gpu", driver: driverName, pool: "pool", device: "gpu-0" }];
  await claims.update(
    {
      ...claim,
      status: {
        allocation: { devices: { results } },
        reservedFor: [{ resource: "pods", name, uid: pod.metadata.uid }],
      },
    },
    { subresource: "status" },
  );
}

async function eventOf(name: string, pattern: RegExp): Promise<void> {
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
    const messages = items.filter(({ involvedObject }) => involvedObject.name === name).map((e) => e.message);
    assert.ok(
      messages.some((message) => pattern.test(message ?? "")),
      messages.join("\n").slice(0, 5000),
    );
    assert.ok(messages.every((message) => (message ?? "").length <= 1024));
  });
}

async function goes(name: string): Promise<void> {
  await cluster.admin.resource(Pod).delete({ namespace: "default", name });
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(Pod).list({ namespace: "default" });
    assert.ok(!items.some(({ metadata }) => metadata.name === name));
  });
}

const device = {
  requestNames: ["gpu"],
  poolName: "pool",
  deviceName: "gpu-0",
  cdiDeviceIds: ["test/gpu=0"],
};
const big = "x".repeat(3_000_000);

for (const [what, devices, pattern] of [
  [
    "message beyond the limit of gRPC",
    [{ ...device, cdiDeviceIds: [big, big] }],
    /rpc error: code = ResourceExhausted/,
  ],
  [
    "CDI device ID of 3 MB",
    [{ ...device, cdiDeviceIds: [big] }],
    /a CDI device ID of 3000000 characters, more than 512 \(xxx/,
  ],
  ["pool name of 3 MB", [{ ...device, poolName: big }], /a pool name of 3000000 characters/],
  ["device name of 3 MB", [{ ...device, deviceName: big }], /a device name of 3000000 characters/],
  ["request name of 3 MB", [{ ...device, requestNames: [big] }], /a request name of 3000000 characters/],
  ["thousand devices", new Array(1000).fill(device), /returned 1000 devices, more than 256, for/],
  [
    "hundred thousand CDI devices",
    [{ ...device, cdiDeviceIds: new Array(130_000).fill("a/b=c") }],
    /more than 1024 request names and CDI devices/,
  ],
] as const)
  test(`a response with a ${what} is refused, and the pod can be deleted`, async () => {
    const name = what.replace(/\W+/g, "-").toLowerCase();
    driver.devices = devices;
    await podWithClaim(name);
    await eventOf(name, pattern);
    driver.devices = undefined;
    await goes(name);
  });

test("an error text of 3 MB is shortened in the event, and the pod can be deleted", async () => {
  driver.prepareError = big;
  await podWithClaim("error");
  await eventOf("error", /NodePrepareResources failed for ResourceClaim error: x+.*(\.\.\.|shortened\))$/);
  driver.prepareError = "";
  driver.unprepareError = big;
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "error" });
  await eventOf("error", /NodeUnprepareResources failed for ResourceClaim error: x+/);
  driver.unprepareError = "";
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(Pod).list({ namespace: "default" });
    assert.deepEqual(items, []);
  });
});

test("information of 3 MB at the registration is refused with a short text, and at once", async () => {
  for (const [i, info] of [
    // A pattern that is tried from each character on would take hours.
    { name: `${"a".repeat(3_000_000)}!` },
    { type: big },
    { endpoint: `/${big}` },
    { supportedVersions: [big] },
  ].entries()) {
    const other = await testDriver(cluster.rootDir("n1"), `d${i}`, { ...info });
    await eventuallyPasses(async () => assert.equal(other.registered[0]?.pluginRegistered, false));
    const error = other.registered[0]?.error ?? "";
    assert.ok(error.length > 20 && error.length <= 1024, error.slice(0, 2000));
    // It is logged after the response to the driver.
    await eventuallyPasses(async () => assert.ok(longest > 100));
    await other.close();
  }
});

test("no text of a driver is in the log at length", () => {
  assert.ok(longest > 100 && longest < 6000, String(longest));
});

const status: PodStatus = {
  phase: "Failed",
  message: "m",
  conditions: [{ type: "Ready", status: "False", message: "m" }],
  containerStatuses: [
    {
      name: "c",
      image: "",
      imageID: "",
      ready: false,
      restartCount: 0,
      state: { waiting: { reason: "R", message: "m" } },
      lastState: { terminated: { exitCode: 1, message: "m" } },
    },
  ],
};

for (const reason of ["RequestEntityTooLarge", "Invalid"] as const)
  test(`a status that is refused as ${reason} is written with less in it, or not at all`, async () => {
    const pod = partial<Pod>({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name: "p", uid: "u", resourceVersion: "1", creationTimestamp: "" },
      spec: { containers: [] },
    });
    for (const accepted of [0, 1, 2, 3]) {
      const written: PodStatus[] = [];
      const errors: unknown[] = [];
      let refused = 0;
      const client = {
        resource: () => ({
          async patch(_: object, __: string, patch: { status: PodStatus }) {
            if (refused++ < accepted) throw StatusError.of(reason, "no");
            written.push(patch.status);
          },
        }),
      } as unknown as Client;
      const log: Log = { ...silentLog, error: (fields) => errors.push(fields) };
      const reporter = new StatusReporter(client, log);
      await reporter.report(pod, { ...status });
      assert.equal(errors.length, accepted === 0 ? 0 : 1, "said once");
      assert.equal(written.length, accepted === 3 ? 0 : 1);
      assert.equal(JSON.stringify(written).includes('"m"'), accepted === 0);
      assert.equal(
        written[0]?.containerStatuses?.[0]?.state?.waiting?.reason,
        accepted < 2 ? "R" : undefined,
      );
      if (accepted < 3) assert.equal(written[0]?.phase, "Failed");
      // Written once, and not retried without a reason.
      await reporter.report(pod, { ...status });
      assert.equal(written.length, 1);
    }
  });

test("termination messages share 12 KiB, as the kubelet's do", async () => {
  const say = (name: string) => ({
    name,
    command: ["bash", "-c", 'head -c 4096 /dev/zero | tr "\\0" x >/dev/termination-log'],
  });
  const names = Array.from({ length: 12 }, (_, i) => `c${i}`);
  await cluster.admin
    .resource(Pod)
    .create(podOn("n1", "words", { restartPolicy: "Never", containers: names.map(say) }));
  const pod = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "words" },
    (p) => p.status?.phase === "Succeeded",
  );
  assert.deepEqual(
    pod.status?.containerStatuses?.map(({ state }) => state?.terminated?.message?.length),
    names.map(() => 1024),
  );
});
