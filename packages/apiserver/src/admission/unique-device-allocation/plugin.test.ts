import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "@dray/client";
import { memoryStore, type Store, StoreTimeoutError } from "@dray/store";
import { type Answer, type TestServer, testServer } from "../../testing/server.ts";

const enabledAdmissionPlugins = ["UniqueDeviceAllocation"];
const claims = "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims";

/** Returns a result of an allocation for a device. */
const result = (device: string, more: object = {}): object => ({
  request: "r",
  driver: "gpu.example.com",
  pool: "n0",
  device,
  ...more,
});
const share = (id: number): object => ({
  shareID: `00000000-0000-4000-8000-${String(id).padStart(12, "0")}`,
});
const allocation = (...results: object[]): object => ({ status: { allocation: { devices: { results } } } });
const deallocation = { status: { allocation: null, reservedFor: null } };

/** Starts a server with claims of these names. */
async function withClaims(
  names: readonly string[],
  options: Parameters<typeof testServer>[0] = { enabledAdmissionPlugins },
): Promise<TestServer> {
  const tested = await testServer(options);
  await tested.namespace("n");
  for (const name of names) {
    const requests = [
      { name: "r", exactly: { deviceClassName: "c", allocationMode: "ExactCount", count: 2 } },
    ];
    const body = { metadata: { name }, spec: { devices: { requests } } };
    assert.equal((await tested.call("POST", claims, { body })).status, 201);
  }
  return tested;
}

const patch = ({ call }: TestServer, name: string, body: object, query = ""): Promise<Answer> =>
  call("PATCH", `${claims}/${name}/status${query}`, { body });

function granted(answer: Answer): void {
  assert.equal(answer.status, 200, answer.body.message);
}

function refused({ status, body }: Answer, name: string, why: string): void {
  const message = `resourceclaims.resource.k8s.io "${name}" is forbidden: ${why}`;
  assert.deepEqual(
    { status, reason: body.reason, message: body.message },
    { status: 403, reason: "Forbidden", message },
  );
}

const takenBy = (claim: string, device = "d"): string =>
  `device gpu.example.com/n0/${device} is allocated to claim n/${claim}`;

test("a device that a claim has is refused to another, by each kind of write, until it is given back", async () => {
  const tested = await withClaims(["a", "b"]);
  const { call, server } = tested;
  granted(await patch(tested, "a", allocation(result("d"))));
  refused(await patch(tested, "b", allocation(result("e"), result("d"))), "b", takenBy("a"));
  refused(await patch(tested, "b", allocation(result("d")), "?dryRun=All"), "b", takenBy("a"));
  const b = (await call("GET", `${claims}/b`)).body;
  refused(
    await call("PUT", `${claims}/b/status`, { body: { ...b, ...allocation(result("d")) } }),
    "b",
    takenBy("a"),
  );
  const applied = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "b" },
    ...allocation(result("d")),
  };
  refused(
    await call("PATCH", `${claims}/b/status?fieldManager=m`, {
      body: applied,
      headers: { "content-type": "application/apply-patch+yaml" },
    }),
    "b",
    takenBy("a"),
  );
  // A rejected allocation leaves its other device `e` free.
  granted(await patch(tested, "a", deallocation));
  granted(await patch(tested, "b", allocation(result("e"), result("d"))));
  refused(await patch(tested, "a", allocation(result("e"))), "a", takenBy("b", "e"));
  assert.equal((await call("DELETE", `${claims}/b`)).status, 200);
  granted(await patch(tested, "a", allocation(result("e"))));
  await server.close();
});

test("a share excludes allocations of the whole device; admin access excludes none", async () => {
  const tested = await withClaims(["a", "b", "c"]);
  const labels = { "resource.kubernetes.io/admin-access": "true" };
  granted(await tested.call("PATCH", "/api/v1/namespaces/n", { body: { metadata: { labels } } }));
  granted(await patch(tested, "a", allocation(result("d", share(1)))));
  granted(await patch(tested, "b", allocation(result("d", share(2)))));
  refused(
    await patch(tested, "c", allocation(result("d"))),
    "c",
    "device gpu.example.com/n0/d is shared by claim n/a",
  );
  granted(await patch(tested, "c", allocation(result("d", { adminAccess: true }), result("e"))));
  refused(
    await patch(tested, "a", deallocation).then(() => patch(tested, "a", allocation(result("e", share(3))))),
    "a",
    takenBy("c", "e"),
  );
  // An administrator's device is not held.
  granted(await patch(tested, "b", deallocation));
  granted(await patch(tested, "a", allocation(result("d"))));
  await tested.server.close();
});

test("of many writes at the same time for one device exactly one wins, and a loser can have another device", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `c${i}`);
  const tested = await withClaims(names);
  for (const device of ["d", "e", "f"]) {
    const answers = await Promise.all(names.map((name) => patch(tested, name, allocation(result(device)))));
    const winners = answers.filter(({ status }) => status === 200);
    assert.equal(winners.length, 1, device);
    assert.equal(answers.filter(({ status }) => status === 403).length, names.length - 1);
    const winner = winners[0]!.body.metadata.name;
    names.splice(names.indexOf(winner), 1);
  }
  await tested.server.close();
});

test("a write that loses to another server holds no device", async () => {
  const store = memoryStore(systemClock);
  const first = await withClaims(["a", "b"], { enabledAdmissionPlugins, store });
  const second = await testServer({ enabledAdmissionPlugins, store });
  const written = [
    { tested: first, device: "d" },
    { tested: second, device: "e" },
  ].map(async ({ tested, device }) => ({
    tested,
    device,
    answer: await patch(tested, "a", allocation(result(device))),
  }));
  const sorted = (await Promise.all(written)).toSorted((x, y) => x.answer.status - y.answer.status);
  // An allocation cannot be changed into another one.
  assert.deepEqual(
    sorted.map(({ answer }) => answer.status),
    [200, 422],
  );
  const { tested, device } = sorted[1]!;
  granted(await patch(tested, "b", allocation(result(device))));
  await second.server.close();
  await first.server.close();
});

test("a write whose outcome is unknown holds its device until the store says what became of it", async () => {
  const timers = new Set<() => void>();
  const clock: Clock = {
    now: () => 0,
    after(_milliseconds, run) {
      timers.add(run);
      return () => void timers.delete(run);
    },
  };
  const inner = memoryStore(clock);
  let failure: Error | undefined;
  let isSilent = false;
  const store: Store = {
    name: inner.name,
    get: (...request) => inner.get(...request),
    list: (...request) => inner.list(...request),
    count: (...request) => inner.count(...request),
    watch: (...request) => inner.watch(...request),
    compact: (...request) => inner.compact(...request),
    close: () => inner.close(),
    async txn(...request) {
      if (failure !== undefined) throw failure;
      return inner.txn(...request);
    },
    async revision() {
      if (isSilent) throw new StoreTimeoutError("no answer");
      return inner.revision();
    },
  };
  const tested = await withClaims(["a", "b"], { enabledAdmissionPlugins, store, clock });
  isSilent = true;
  failure = new StoreTimeoutError("no answer");
  assert.equal((await patch(tested, "a", allocation(result("d")))).status, 504);
  failure = undefined;
  refused(await patch(tested, "b", allocation(result("d"))), "b", takenBy("a"));
  isSilent = false;
  const dryRun = (): Promise<Answer> => patch(tested, "b", allocation(result("d")), "?dryRun=All");
  refused(await dryRun(), "b", takenBy("a"));
  for (const run of [...timers]) run();
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  granted(await dryRun());
  granted(await patch(tested, "b", allocation(result("d"))));
  await tested.server.close();
});

test("a starting server loads allocated devices; claims that share one already stay changeable", async () => {
  const store = memoryStore(systemClock);
  const before = await withClaims(["a", "b", "c"], { store });
  // Without the plugin, all allocations are accepted.
  for (const name of ["a", "b"]) granted(await patch(before, name, allocation(result("d"))));
  await before.server.close();
  const tested = await testServer({ store, enabledAdmissionPlugins });
  refused(await patch(tested, "c", allocation(result("d"))), "c", takenBy("a"));
  const reservedFor = [{ resource: "pods", name: "p", uid: "u" }];
  granted(await patch(tested, "b", { status: { reservedFor } }));
  granted(await patch(tested, "b", deallocation));
  refused(await patch(tested, "b", allocation(result("d"))), "b", takenBy("a"));
  granted(await patch(tested, "a", deallocation));
  granted(await patch(tested, "b", allocation(result("d"))));
  await tested.server.close();
});

test("a plugin that is not known cannot be enabled", async () => {
  await assert.rejects(testServer({ enabledAdmissionPlugins: ["Frob"] }), /unknown admission plugin "Frob"/);
});
