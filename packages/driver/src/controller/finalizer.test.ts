import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, silentLog, systemClock } from "@dray/client";
import { until } from "../../test/fixture.ts";
import { type Server, startServer } from "../../test/server.ts";
import { type FinalizeClaimsOptions, finalizeClaims } from "../index.ts";

const driver = "lamp.example.com";
const finalizer = `${driver}/clean-up`;
let server: Server;
let client: Client;
before(async () => {
  server = await startServer();
  client = server.connect();
});
after(() => server.close());

const claims = () => client.resource(ResourceClaim);
const get = (name: string) => claims().get({ namespace: "default", name });
const exists = (name: string) =>
  get(name).then(
    () => true,
    () => false,
  );
const isHeld = async (name: string) => (await get(name)).metadata.finalizers?.includes(finalizer) ?? false;

async function create(name: string, finalizers: readonly string[] = []): Promise<void> {
  const requests = [{ name: "lamp", exactly: { deviceClassName: "lamps" } }];
  const metadata = { namespace: "default", name, finalizers };
  await claims().create({ metadata, spec: { devices: { requests } } } as never);
}

/** Writes the allocation as the scheduler does, or takes it back as the claim controller does. */
async function allocate(name: string, ...devices: readonly Partial<DeviceRequestAllocationResult>[]) {
  const results = devices.map((one) => ({ request: "lamp", driver, pool: "p", device: "lamp-0", ...one }));
  const { status: _, ...claim } = await get(name);
  const status = results.length === 0 ? {} : { allocation: { devices: { results } } };
  await claims().update({ ...claim, status } as never, { subresource: "status" });
}

/** The clean-ups of a driver: what they were called with, as `claim/device device`. */
function run(settings: Partial<FinalizeClaimsOptions> = {}) {
  const stop = new AbortController();
  const calls: string[] = [];
  const done = finalizeClaims({
    name: driver,
    client: server.connect("driver"),
    clock: systemClock,
    log: silentLog,
    signal: stop.signal,
    ...settings,
    async cleanUp(claim, signal) {
      calls.push(`${claim.name}/${claim.devices.map(({ device }) => device).join(" ")}`);
      await settings.cleanUp?.(claim, signal);
    },
  });
  return {
    calls,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

test("a claim stays until the driver has cleaned up after the devices that it had", async () => {
  const finished = Promise.withResolvers<void>();
  const one = run({ cleanUp: () => finished.promise });
  try {
    await create("kept");
    await allocate("kept", {}, { device: "lamp-1" }, { driver: "other.example.com", device: "x" });
    await until(() => isHeld("kept"), "the finalizer is there");
    await claims().delete({ namespace: "default", name: "kept" });
    assert.ok((await get("kept")).metadata.deletionTimestamp);
    assert.deepEqual(one.calls, [], "it is allocated: a pod may use it");
    await allocate("kept");
    await until(() => one.calls.length > 0, "the clean-up begins");
    assert.deepEqual(one.calls, ["kept/lamp-0 lamp-1"]);
    assert.ok(await exists("kept"));
    finished.resolve();
    await until(async () => !(await exists("kept")), "the claim goes");
    assert.deepEqual(one.calls, ["kept/lamp-0 lamp-1"]);
  } finally {
    await one.stop();
  }
});

test("a claim that lives on is let go, and held again with its next devices", async () => {
  const one = run();
  try {
    await create("again");
    await allocate("again", { device: "lamp-2" });
    await until(() => isHeld("again"), "the finalizer is there");
    await allocate("again");
    await until(async () => !(await isHeld("again")), "the finalizer is gone");
    assert.deepEqual((await get("again")).metadata.annotations, undefined);
    await allocate("again", { device: "lamp-3" });
    await until(() => isHeld("again"), "the finalizer is there again");
    await allocate("again");
    await until(() => one.calls.length === 2, "both were cleaned up");
    assert.deepEqual(one.calls, ["again/lamp-2", "again/lamp-3"]);
  } finally {
    await one.stop();
  }
});

test("what a driver missed while it was away is cleaned up when it runs again, the next allocation or not", async () => {
  const first = run();
  await create("missed");
  await allocate("missed", { device: "lamp-4" });
  await until(() => isHeld("missed"), "the finalizer is there");
  await first.stop();
  await allocate("missed");
  await allocate("missed", { device: "lamp-5" });
  const second = run();
  try {
    await until(() => second.calls.length > 0, "the clean-up begins");
    assert.deepEqual(second.calls, ["missed/lamp-4"]);
    await until(
      async () =>
        (await get("missed")).metadata.annotations?.[`${driver}/allocated-devices`]?.includes("lamp-5"),
      "the new device is recorded",
    );
  } finally {
    await second.stop();
  }
});

test("a clean-up that fails is tried again, and delays no other claim", async () => {
  let failures = 1;
  const one = run({
    async cleanUp({ name }) {
      if (name === "stubborn" && failures-- > 0) throw new Error("the lamp is hot");
    },
  });
  try {
    for (const name of ["stubborn", "easy"]) {
      await create(name);
      await allocate(name, { device: name });
      await until(() => isHeld(name), "the finalizer is there");
      await claims().delete({ namespace: "default", name });
      await allocate(name);
    }
    await until(async () => !(await exists("easy")) && !(await exists("stubborn")), "both go");
    assert.deepEqual([...one.calls].sort(), ["easy/easy", "stubborn/stubborn", "stubborn/stubborn"]);
  } finally {
    await one.stop();
  }
});

test("an instance cleans up after its own devices only", async () => {
  const one = run({ owns: ({ pool }) => pool === "mine" });
  try {
    await create("theirs");
    await allocate("theirs", { pool: "yours" });
    await create("mine");
    await allocate("mine", { pool: "mine" });
    await until(() => isHeld("mine"), "the finalizer is there");
    assert.equal(await isHeld("theirs"), false);
    await allocate("mine");
    await until(async () => !(await isHeld("mine")), "the finalizer is gone");
    assert.deepEqual(one.calls, ["mine/lamp-0"]);
  } finally {
    await one.stop();
  }
});

test("a claim that had the finalizer from the start and never a device goes; a damaged record stays", async () => {
  const errors: string[] = [];
  const note = ({ err }: { readonly err?: unknown }): void => {
    if (err instanceof Error) errors.push(err.message);
  };
  const one = run({ log: { debug: note, info: note, warn: note, error: note } });
  try {
    await create("never", [finalizer]);
    await claims().delete({ namespace: "default", name: "never" });
    await until(async () => !(await exists("never")), "the claim goes");
    await create("damaged", [finalizer]);
    await claims().patch({ namespace: "default", name: "damaged" }, "merge", {
      metadata: { annotations: { [`${driver}/allocated-devices`]: "lamp-0" } },
    });
    await until(() => errors.length > 0, "the error is logged");
    assert.match(
      errors[0] ?? "",
      /lamp\.example\.com\/allocated-devices of claim default\/damaged is damaged: lamp-0; clean up by hand/,
    );
    assert.ok(await isHeld("damaged"));
    assert.deepEqual(one.calls, []);
  } finally {
    await one.stop();
  }
});
