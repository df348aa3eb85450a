import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { ResourceClaim } from "@dray/api/resource/v1";
import { cdiRegistry } from "@dray/cdi";
import { type Driver, deviceMetadataUpdater } from "../index.ts";
import { driverName, type Fixture, fixture, nodeName } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

const described: Driver = {
  ...lamps,
  metadata: { versions: ["v1beta1", "v1alpha1"] },
  prepare: async ({ devices }) =>
    devices.map((device) => ({
      device,
      edits: {},
      metadata: { attributes: { colour: { string: `of ${device.result.device}` } } },
    })),
};
const folder = (claim: string) =>
  join(node.paths.plugins, driverName, "dra-device-metadata", `default_${claim}`);
const read = (claim: string, request = "lamp") =>
  readFileSync(join(folder(claim), request, "metadata.json"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const mounts = async (ids: readonly string[]) => (await cdiRegistry([node.paths.cdi]).resolve(ids)).mounts;
const updater = () => deviceMetadataUpdater({ driver: driverName, pluginsDirectory: node.paths.plugins });

test("a file for each request, mounted by a CDI device of its first device; all gone after unprepare", async () => {
  await node.start(described);
  const claim = node.claim("one", [
    { device: "lamp-0" },
    { device: "lamp-1" },
    { request: "other/large", device: "lamp-2" },
  ]);
  const { uid } = claim.metadata;
  const { error, devices } = (await node.prepare(claim))[uid]!;
  assert.equal(error, "");
  const id = (request: string) => `${driverName}/metadata=${uid}_${request}`;
  assert.deepEqual(
    devices.map(({ cdiDeviceIds }) => cdiDeviceIds),
    [[id("lamp")], [], [id("other")]],
  );
  const device = (name: string) => ({
    driver: driverName,
    pool: nodeName,
    name,
    attributes: { colour: { string: `of ${name}` } },
  });
  const object = {
    kind: "DeviceMetadata",
    metadata: { name: "one", namespace: "default", uid, generation: 1 },
    requests: [{ name: "lamp", devices: [device("lamp-0"), device("lamp-1")] }],
  };
  assert.deepEqual(read("one"), [
    { apiVersion: "metadata.resource.k8s.io/v1beta1", ...object },
    { apiVersion: "metadata.resource.k8s.io/v1alpha1", ...object },
  ]);
  assert.equal(read("one", "other")[0].requests[0].name, "other/large");
  const inContainer = "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/one";
  assert.deepEqual(await mounts([id("lamp"), id("other")]), [
    {
      hostPath: join(folder("one"), "lamp", "metadata.json"),
      containerPath: `${inContainer}/lamp/${driverName}-metadata.json`,
      options: ["ro", "bind"],
    },
    {
      hostPath: join(folder("one"), "other", "metadata.json"),
      containerPath: `${inContainer}/other/${driverName}-metadata.json`,
      options: ["ro", "bind"],
    },
  ]);
  assert.deepEqual(readdirSync(node.paths.cdi).sort(), [
    `${driverName}_metadata_${uid}_lamp.json`,
    `${driverName}_metadata_${uid}_other.json`,
  ]);
  assert.equal(statSync(join(folder("one"), "lamp", "metadata.json")).mode & 0o777, 0o644);

  await node.unprepare(claim);
  assert.deepEqual(readdirSync(node.paths.cdi), []);
  assert.equal(existsSync(folder("one")), false);
});

test("a claim made from a template goes by its name in the pod", async () => {
  await node.start(described);
  const claim = node.api.put(ResourceClaim, {
    ...node.claim("pod-lamps-x7z", [{}]),
    metadata: {
      namespace: "default",
      name: "pod-lamps-x7z",
      annotations: { "resource.kubernetes.io/pod-claim-name": "lamps" },
    },
  });
  const { devices } = (await node.prepare(claim))[claim.metadata.uid]!;
  assert.equal(read("pod-lamps-x7z")[0].podClaimName, "lamps");
  const [mount] = await mounts(devices[0]!.cdiDeviceIds);
  assert.equal(
    mount?.containerPath,
    `/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/lamps/lamp/${driverName}-metadata.json`,
  );
});

test("an update keeps the file that containers have mounted and counts the generation", async () => {
  await node.start(described);
  const claim = node.claim("one", [{ device: "lamp-0" }, { device: "lamp-1" }]);
  await node.prepare(claim);
  const path = join(folder("one"), "lamp", "metadata.json");
  const { ino } = statSync(path);
  const networkData = { interfaceName: "eth1", ips: ["10.0.0.7/24"] };
  const device = { pool: nodeName, device: "lamp-1" };
  assert.equal(await updater().update(claim.metadata, "lamp", [{ device, metadata: { networkData } }]), 2);
  assert.equal(statSync(path).ino, ino);
  for (const { metadata, requests } of read("one")) {
    assert.equal(metadata.generation, 2);
    assert.deepEqual(requests[0].devices, [
      { driver: driverName, pool: nodeName, name: "lamp-0", attributes: { colour: { string: "of lamp-0" } } },
      { driver: driverName, pool: nodeName, name: "lamp-1", networkData },
    ]);
  }
  // Shorter than before, many at a time: nothing of the old content stays, no update is lost.
  const generations = await Promise.all(
    Array.from({ length: 5 }, () => updater().update(claim.metadata, "lamp/any", [{ device }])),
  );
  assert.deepEqual(generations, [3, 4, 5, 6, 7]);
  assert.deepEqual(read("one")[1].requests[0].devices[1], {
    driver: driverName,
    pool: nodeName,
    name: "lamp-1",
  });
});

test("a second prepare keeps updated files and restores lost or damaged ones", async () => {
  const first = await node.start(described);
  const claim = node.claim("one", [{}]);
  const answer = await node.prepare(claim);
  const device = { pool: nodeName, device: "lamp-0" };
  await updater().update(claim.metadata, "lamp", [{ device, metadata: {} }]);
  await first.stop();
  rmSync(node.paths.cdi, { recursive: true });
  await node.start(described);
  assert.deepEqual(await node.prepare(claim), answer);
  assert.equal(read("one")[0].metadata.generation, 2);
  assert.equal((await mounts(answer[claim.metadata.uid]!.devices[0]!.cdiDeviceIds)).length, 1);

  writeFileSync(join(folder("one"), "lamp", "metadata.json"), '{"half":');
  await assert.rejects(updater().update(claim.metadata, "lamp", [{ device }]), /is missing or damaged$/);
  assert.deepEqual(await node.prepare(claim), answer);
  assert.deepEqual(read("one")[0].requests[0].devices[0].attributes, { colour: { string: "of lamp-0" } });
});

test("an update of a device that is not prepared is an error", async () => {
  await node.start(described);
  const claim = node.claim("one", [{}]);
  await node.prepare(claim);
  const device = { pool: nodeName, device: "lamp-0" };
  await assert.rejects(updater().update(claim.metadata, "no", [{ device }]), /metadata\.json is missing/);
  await assert.rejects(
    updater().update({ ...claim.metadata, uid: "another" }, "lamp", [{ device }]),
    /request lamp of claim default\/one \(UID another\) is not prepared with metadata: .* is of UID /,
  );
  await assert.rejects(
    updater().update(claim.metadata, "lamp", [{ device: { pool: "x", device: "y" } }]),
    /device x\/y is not one of request lamp of claim default\/one: node-a\/lamp-0 are$/,
  );
  await assert.rejects(updater().update(claim.metadata, "..", [{ device }]), /cannot be the name of a file/);
});

test("rejects unknown versions at the start; a driver without metadata writes no files", async () => {
  const driver = { ...described, metadata: { versions: ["v2"] } } as unknown as Driver;
  await assert.rejects(
    node.start(driver).then(({ done }) => done),
    /metadata\.versions: \["v2"\] must be a list with at least one of v1alpha1, v1beta1$/,
  );
  const { metadata: _, ...plain } = described;
  await node.start(plain);
  const claim = node.claim("one", [{}]);
  assert.deepEqual((await node.prepare(claim))[claim.metadata.uid]!.devices[0]!.cdiDeviceIds, []);
  assert.equal(existsSync(folder("one")), false);
});
