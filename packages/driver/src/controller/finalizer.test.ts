import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DeviceRequestAllocationResult, ResourceClaim } from "@dray/api/resource/v1";
import { type Client, silentLog, systemClock } from "@dray/client";
import { startApiServer, type TestApiServer } from "@dray/testing/api-server";
import { eventually } from "@dray/testing/eventually";
import { type FinalizeClaimsOptions, finalizeClaims } from "../index.ts";

const driver = "lamp.example.com";
const finalizer = `${driver}/clean-up`;
let server: TestApiServer;
let client: Client;
before(async () => {
  server = await startApiServer();
  client = server.admin();
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
    client: server.admin("driver"),
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
    await eventually("the finalizer is there", () => isHeld("kept"));
    await claims().delete({ namespace: "default", name: "kept" });
    assert.ok((await get("kept")).metadata.deletionTimestamp);
    assert.deepEqual(one.calls, [], "it is allocated: a pod may use it");
    await allocate("kept");
    await eventually("the clean-up begins", () => one.calls.length > 0);
    assert.deepEqual(one.calls, ["kept/lamp-0 lamp-1"]);
    assert.ok(await exists("kept"));
    finished.resolve();
    await eventually("the claim goes", async () => !(await exists("kept")));
    assert.deepEqual(one.calls, ["kept/lamp-0 lamp-1"]);
  } finally {
    await one.stop();
  }
});

test("a deallocated claim loses the finalizer, and gets it again with its next devices", async () => {
  const one = run();
  try {
    await create("again");
    await allocate("again", { device: "lamp-2" });
    await eventually("the finalizer is there", () => isHeld("again"));
    await allocate("again");
    await eventually("the finalizer is gone", async () => !(await isHeld("again")));
    assert.deepEqual((await get("again")).metadata.annotations, undefined);
    await allocate("again", { device: "lamp-3" });
    await eventually("the finalizer is there again", () => isHeld("again"));
    await allocate("again");
    await eventually("both were cleaned up", () => one.calls.length === 2);
    assert.deepEqual(one.calls, ["again/lamp-2", "again/lamp-3"]);
  } finally {
    await one.stop();
  }
});

test("a restarted driver cleans up after missed deallocations, also if the claim is allocated anew", async () => {
  const first = run();
  await create("missed");
  await allocate("missed", { device: "lamp-4" });
  await eventually("the finalizer is there", () => isHeld("missed"));
  await first.stop();
  await allocate("missed");
  await allocate("missed", { device: "lamp-5" });
  const second = run();
  try {
    await eventually("the clean-up begins", () => second.calls.length > 0);
    assert.deepEqual(second.calls, ["missed/lamp-4"]);
    await eventually("the new device is recorded", async () =>
      (await get("missed")).metadata.annotations?.[`${driver}/allocated-devices`]?.includes("lamp-5"),
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
      await eventually("the finalizer is there", () => isHeld(name));
      await claims().delete({ namespace: "default", name });
      await allocate(name);
    }
    await eventually("both go", async () => !(await exists("easy")) && !(await exists("stubborn")));
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
    await eventually("the finalizer is there", () => isHeld("mine"));
    assert.equal(await isHeld("theirs"), false);
    await allocate("mine");
    await eventually("the finalizer is gone", async () => !(await isHeld("mine")));
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
    await eventually("the claim goes", async () => !(await exists("never")));
    await create("damaged", [finalizer]);
    await claims().patch({ namespace: "default", name: "damaged" }, "merge", {
      metadata: { annotations: { [`${driver}/allocated-devices`]: "lamp-0" } },
    });
    await eventually("the error is logged", () => errors.length > 0);
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
