import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { devicesOf, type TestCluster, uses, withCluster } from "../testing/cluster.ts";

/** Devices of claims whose pods have a node. */
async function boundDevices(cluster: TestCluster): Promise<string[]> {
  const [claims, pods] = [await cluster.list(ResourceClaim), await cluster.list(Pod)];
  const bound = new Set(pods.filter((pod) => pod.spec.nodeName).map((pod) => pod.metadata.uid));
  return claims
    .filter((claim) => claim.status?.reservedFor?.some(({ uid }) => bound.has(uid)))
    .flatMap(devicesOf);
}

function assertDistinct(devices: readonly string[]): void {
  assert.equal(new Set(devices).size, devices.length, `given twice: ${[...devices].sort().join(" ")}`);
}

/** 30 devices on three nodes, and 50 pods with a claim each, made while `meanwhile` happens. */
async function burst(
  meanwhile: (cluster: TestCluster, made: (count: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  await withCluster(async (cluster) => {
    await cluster.gpuClass();
    for (const name of ["n1", "n2", "n3"]) {
      await cluster.node(name);
      await cluster.slice(name, 10);
    }
    let count = 0;
    const making = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) {
        await cluster.claim(`c${i}`);
        await cluster.pod(`p${i}`, uses(`c${i}`));
        count = i + 1;
      }
    };
    const made = (wanted: number): Promise<void> =>
      cluster.until(`${wanted} pods are made`, async () => count >= wanted).then(() => undefined);
    await Promise.all([making(), meanwhile(cluster, made)]);
    await cluster.until("30 pods have a device", async () => {
      const devices = await boundDevices(cluster);
      assertDistinct(devices);
      return devices.length === 30;
    });
    await cluster.settle();
    assert.equal((await boundDevices(cluster)).length, 30);
    // As pods go, the others get what is free.
    let left = 50;
    while (left > 20) {
      const pods = await cluster.list(Pod);
      for (const { metadata } of pods.filter((pod) => pod.spec.nodeName).slice(0, 10)) {
        await cluster.remove(metadata.name, metadata.name.replace("p", "c"));
        left--;
      }
      await cluster.until(`the rest of ${left}`, async () => {
        const devices = await boundDevices(cluster);
        assertDistinct(devices);
        return devices.length === Math.min(left, 30);
      });
    }
    assertDistinct((await cluster.list(ResourceClaim)).flatMap(devicesOf));
  });
}

test("pods that race for devices get one each, and the rest wait for their turn", () =>
  burst(async (cluster) => {
    await cluster.scheduler();
  }));

test("two schedulers at once, one of which dies in the middle, give no device twice", () =>
  burst(async (cluster, made) => {
    const [one] = await Promise.all([cluster.scheduler(), cluster.scheduler()]);
    await made(25);
    one?.kill();
  }));

test("a scheduler that is replaced in the middle of a burst loses nothing", () =>
  burst(async (cluster, made) => {
    const first = await cluster.scheduler();
    await made(10);
    first.kill();
    const second = await cluster.scheduler();
    await made(35);
    await second.stop();
    await cluster.scheduler();
  }));

test("two schedulers with late watches give no device twice", () =>
  withCluster(async (cluster) => {
    await cluster.gpuClass();
    for (const name of ["n1", "n2", "n3"]) {
      await cluster.node(name);
      await cluster.slice(name, 2);
    }
    const schedulers = [await cluster.scheduler(), await cluster.scheduler()];
    for (let i = 0; i < 6; i++) await cluster.claim(`c${i}`);
    await cluster.settle();
    const tell = schedulers.map((scheduler) => scheduler.holdClaims());
    for (let i = 0; i < 6; i++) await cluster.pod(`p${i}`, uses(`c${i}`));
    await cluster.settle();
    for (const go of tell) go();
    await cluster.until("each pod has a device", async () => {
      const devices = await boundDevices(cluster);
      assertDistinct(devices);
      return devices.length === 6;
    });
  }));

test("two schedulers under names of their own give no device twice, and every device that is free", () =>
  withCluster(async (cluster) => {
    await cluster.gpuClass();
    const names = ["n1", "n2", "n3"];
    for (const name of names) {
      await cluster.node(name);
      await cluster.slice(name, 8);
    }
    const mine = await cluster.scheduler();
    const other = await cluster.scheduler(undefined, { name: "other-scheduler" });
    for (let i = 0; i < 24; i++) await cluster.claim(`c${i}`);
    await cluster.settle();
    // Each decides before it hears of the other: all pods of one scheduler come at once.
    const tell = [mine, other].map((scheduler) => scheduler.holdClaims());
    for (let i = 0; i < 24; i++)
      await cluster.pod(`p${i}`, {
        ...uses(`c${i}`),
        schedulerName: i % 2 === 0 ? "default-scheduler" : "other-scheduler",
      });
    await cluster.settle();
    for (const go of tell) go();
    await cluster.until("each pod has a device", async () => {
      const devices = await boundDevices(cluster);
      assertDistinct(devices);
      return devices.length === 24;
    });
    // Some were lost to the other scheduler, and tried again.
    const lost = (await cluster.events()).filter((event) => / was allocated to claim .*, too$/.test(event));
    assert.ok(lost.length > 0, "they have raced");
    const pods = await cluster.list(Pod);
    assert.deepEqual(new Set(pods.map((pod) => pod.spec.nodeName)), new Set(names));
  }));
