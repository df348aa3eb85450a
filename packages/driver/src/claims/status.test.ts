import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, silentLog, systemClock } from "@dray/client";
import { startApiServer, type TestApiServer } from "@dray/testing/api-server";
import { eventually, eventuallyPasses, holdsFor } from "@dray/testing/eventually";
import { type BindingDecision, claimStatusWriter, setBindingConditions } from "../index.ts";

const driver = "lamp.example.com";
let server: TestApiServer;
let client: Client;
before(async () => {
  server = await startApiServer();
  client = server.admin();
});
after(() => server.close());

const claims = () => client.resource(ResourceClaim);
const get = (name: string) => claims().get({ namespace: "default", name });

/** A claim with devices of the driver, allocated as the scheduler does it. */
async function allocated(name: string, results: Partial<DeviceRequestAllocationResult>[]) {
  const requests = [{ name: "lamp", exactly: { deviceClassName: "lamps", count: 4 } }];
  const claim = await claims().create({
    metadata: { namespace: "default", name },
    spec: { devices: { requests } },
  } as never);
  return allocate(claim, results);
}

function allocate(claim: ResourceClaim, results: Partial<DeviceRequestAllocationResult>[]) {
  const full = results.map((one) => ({ request: "lamp", driver, pool: "p", device: "lamp-0", ...one }));
  return claims().update({ ...claim, status: { allocation: { devices: { results: full } } } } as never, {
    subresource: "status",
  });
}

test("writes conditions, data and network data of devices, and keeps entries of other drivers", async () => {
  const claim = await allocated("one", [{}, { device: "lamp-1" }, { driver: "other.example.com" }]);
  const foreign = {
    driver: "other.example.com",
    pool: "p",
    device: "lamp-0",
    data: { theirs: true },
  };
  await claims().update({ ...claim, status: { ...claim.status, devices: [foreign] } } as never, {
    subresource: "status",
  });
  let now = Date.parse("2026-01-01T00:00:00Z");
  const writer = claimStatusWriter({ client, driver, clock: { ...systemClock, now: () => now } });
  const device = { pool: "p", device: "lamp-0" };
  const networkData = { interfaceName: "eth1", ips: ["10.0.0.7/24"], hardwareAddress: "00:11:22:33:44:55" };
  await writer.write(claim.metadata, [
    {
      device,
      conditions: [{ type: "Lit", status: "False", reason: "Cold" }],
      data: { watts: 40 },
      networkData,
    },
    { device: { pool: "p", device: "lamp-1" }, data: { watts: 60 } },
  ]);
  const first = { type: "Lit", status: "False", reason: "Cold", message: "" };
  const at = "2026-01-01T00:00:00Z";
  assert.deepEqual((await get("one")).status?.devices, [
    foreign,
    {
      driver,
      ...device,
      conditions: [{ ...first, lastTransitionTime: at }],
      data: { watts: 40 },
      networkData,
    },
    { driver, pool: "p", device: "lamp-1", data: { watts: 60 } },
  ]);

  now += 60_000;
  await writer.write(claim.metadata, [
    {
      device,
      conditions: [
        { type: "Lit", status: "False", reason: "StillCold" },
        { type: "Warm", status: "True", reason: "Sun", message: "by the window" },
      ],
      networkData: null,
    },
  ]);
  const after = (await get("one")).status?.devices?.[1];
  assert.deepEqual(
    after?.conditions?.map(({ type, reason, lastTransitionTime }) => [type, reason, lastTransitionTime]),
    [
      ["Lit", "StillCold", at],
      ["Warm", "Sun", "2026-01-01T00:01:00Z"],
    ],
    "the time is that of the last change of the status",
  );
  assert.deepEqual([after?.data, after?.networkData], [{ watts: 40 }, undefined]);

  const { resourceVersion } = (await get("one")).metadata;
  await writer.write(claim.metadata, [{ device, data: { watts: 40 } }]);
  assert.equal((await get("one")).metadata.resourceVersion, resourceVersion, "nothing new: no write");
});

test("shares of one device have entries of their own", async () => {
  const ids = ["b7c1b2b4-35b5-4a1f-8a5c-111111111111", "b7c1b2b4-35b5-4a1f-8a5c-222222222222"] as const;
  const claim = await allocated(
    "shares",
    ids.map((shareID) => ({ shareID })),
  );
  const writer = claimStatusWriter({ client, driver, clock: systemClock });
  const results = claim.status!.allocation!.devices!.results!;
  await writer.write(
    claim.metadata,
    results.map((device, i) => ({ device, data: { share: i } })),
  );
  await writer.write(claim.metadata, [{ device: results[1]!, data: { share: "changed" } }]);
  assert.deepEqual(
    (await get("shares")).status?.devices?.map(({ shareID, data }) => [shareID, data]),
    [
      [ids[0], { share: 0 }],
      [ids[1], { share: "changed" }],
    ],
  );
});

test("writers that meet each other lose nothing", async () => {
  const names = Array.from({ length: 8 }, (_, i) => `lamp-${i}`);
  const claim = await allocated(
    "busy",
    names.map((device) => ({ device })),
  );
  await Promise.all(
    names.map((device) =>
      claimStatusWriter({ client, driver, clock: systemClock }).write(claim.metadata, [
        { device: { pool: "p", device }, data: { device } },
      ]),
    ),
  );
  assert.deepEqual((await get("busy")).status?.devices?.map(({ device }) => device).sort(), names);
});

test("a device that is not allocated, a claim that was created anew: errors, and nothing is written", async () => {
  const claim = await allocated("wrong", [{}]);
  const writer = claimStatusWriter({ client, driver, clock: systemClock });
  await assert.rejects(
    writer.write(claim.metadata, [{ device: { pool: "p", device: "lamp-9" }, data: {} }]),
    /^Error: device p\/lamp-9 of driver lamp\.example\.com is not allocated to claim default\/wrong: lamp\.example\.com\/p\/lamp-0 is$/,
  );
  await assert.rejects(
    writer.write({ ...claim.metadata, uid: "another" }, []),
    /has UID .*, not another: it was deleted and created anew$/,
  );
  await assert.rejects(
    writer.write(claim.metadata, [
      { device: { pool: "p", device: "lamp-0" }, networkData: { ips: ["nonsense"] } },
    ]),
    /status\.devices\[0\]\.networkData\.ips\[0\]/,
  );
  assert.equal((await get("wrong")).status?.devices, undefined);
});

const binding = { bindingConditions: ["Ready", "Wired"], bindingFailureConditions: ["Broken", "Lost"] };

/** Decides what the test says; by the name of the device. */
function deciding(decisions: Record<string, BindingDecision | Error>) {
  const stop = new AbortController();
  const asked: string[] = [];
  const done = setBindingConditions({
    name: driver,
    client,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    async decide(claim, { device }) {
      asked.push(`${claim.metadata.name}/${device}`);
      const decision = decisions[device] ?? { state: "Pending", retryAfter: 20 };
      if (decision instanceof Error) {
        delete decisions[device];
        throw decision;
      }
      return decision;
    },
  });
  return {
    asked,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

const trueConditions = async (name: string) =>
  Object.fromEntries(
    ((await get(name)).status?.devices ?? []).map(({ device, conditions = [] }) => [
      device,
      conditions.filter(({ status }) => status === "True").map(({ type }) => type),
    ]),
  );

async function untilConditions(name: string, wanted: object) {
  await eventuallyPasses(`the conditions of ${name}`, async () =>
    assert.deepEqual(await trueConditions(name), wanted),
  );
}

test("binding conditions become True, or a failure does, as the driver decides; others are not asked for", async () => {
  const decisions: Record<string, BindingDecision | Error> = {
    good: { state: "Ready" },
    bad: { state: "Failed", condition: "Lost", reason: "Gone" },
  };
  const one = deciding(decisions);
  try {
    await allocated("bind", [
      { device: "good", ...binding },
      { device: "bad", ...binding },
      { device: "later", ...binding },
      { device: "plain" },
    ]);
    await allocated("foreign", [{ device: "good", driver: "other.example.com", ...binding }]);
    await untilConditions("bind", { good: ["Ready", "Wired"], bad: ["Lost"] });
    const before = one.asked.length;
    await eventually("the one that is pending is asked for again", () => one.asked.length > before + 2);
    decisions["later"] = { state: "Ready" };
    await untilConditions("bind", { good: ["Ready", "Wired"], bad: ["Lost"], later: ["Ready", "Wired"] });
    const count = one.asked.length;
    await holdsFor("all is decided, nothing is asked", () => one.asked.length === count, 100);
    assert.deepEqual([...new Set(one.asked)].sort(), ["bind/bad", "bind/good", "bind/later"]);
  } finally {
    await one.stop();
  }
});

test("an error of decide is tried again, and keeps no other device; claims that are there already count", async () => {
  await allocated("early", [
    { device: "shy", ...binding },
    { device: "bold", ...binding },
  ]);
  const one = deciding({ shy: new Error("not now"), bold: { state: "Ready" } });
  try {
    await untilConditions("early", { bold: ["Ready", "Wired"] });
    await eventually("asked again", () => one.asked.filter((asked) => asked === "early/shy").length > 1);
  } finally {
    await one.stop();
  }
});

test("a decision about one allocation is not written into the next", async () => {
  const claim = await allocated("moved", [{ device: "slow", ...binding }]);
  const stop = new AbortController();
  let asked = 0;
  const done = setBindingConditions({
    name: driver,
    client,
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    async decide({ metadata, status }) {
      if (metadata.name !== "moved") return { state: "Pending", retryAfter: 60_000 };
      if (++asked > 1) return { state: "Pending", retryAfter: 60_000 };
      assert.equal(status?.allocation?.devices?.results?.length, 1);
      // The scheduler gives up, and allocates the same device together with another.
      const fresh = await claims().update({ ...(await get("moved")), status: {} } as never, {
        subresource: "status",
      });
      await allocate(fresh, [
        { device: "slow", ...binding },
        { device: "more", ...binding },
      ]);
      return { state: "Ready" };
    },
  });
  await eventually("the new allocation is asked for", () => asked > 1);
  stop.abort();
  await done;
  assert.equal((await get("moved")).metadata.uid, claim.metadata.uid);
  assert.equal((await get("moved")).status?.devices, undefined);
});
