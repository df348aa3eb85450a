import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ResourceSlice } from "@dray/api/resource/v1";
import { type Client, type Log, silentLog } from "@dray/client";
import { type RpcServer, service, unixServer } from "@dray/rpc";
import { DRAPluginDefinition as V1beta1Definition } from "@dray/rpc/dra/v1beta1";
import { type PluginInfo, RegistrationDefinition } from "@dray/rpc/pluginregistration/v1";
import { skipClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { TestCluster } from "../testing/cluster.ts";
import { allocated, draCluster, draNode, podWithClaims } from "../testing/dra.ts";
import { testDriver } from "../testing/driver.ts";
import { SliceWiper } from "./slices.ts";

const name = "gpu.example.com";
let cluster: TestCluster;
before(async () => {
  cluster = await draCluster();
});
after(() => cluster.close());

interface Lines {
  readonly log: Log;
  readonly all: { readonly message: string; readonly fields: Record<string, unknown> }[];
}

function lines(): Lines {
  const all: Lines["all"] = [];
  const note: Log["info"] = (fields, message) => all.push({ message, fields: fields as never });
  return { log: { ...silentLog, info: note, warn: note, error: note }, all };
}

test("uses the first known version of the plugin's list; without one the error names both lists", async (t) => {
  const node = draNode(cluster, "versions");
  t.after(() => node.close());
  for (const [index, supportedVersions, wanted] of [
    [0, ["v1beta1.DRAPlugin", "v1.DRAPlugin"], "v1beta1.DRAPlugin"],
    [1, ["v9.DRAPlugin", "v1.DRAPlugin", "v1beta1.DRAPlugin"], "v1.DRAPlugin"],
    [
      2,
      ["v1alpha4", "1.0.0"],
      'invalid supported gRPC versions of DRA driver plugin d2.example.com: none of services supported by the plugin (["v1alpha4" "1.0.0"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1.DRAPlugin"])',
    ],
    [
      3,
      [],
      "invalid supported gRPC versions of DRA driver plugin d3.example.com: empty list of supported gRPC services (aka supported versions)",
    ],
  ] as const) {
    const driver = await testDriver(node.root, `d${index}.example.com`, {
      supportedVersions: [...supportedVersions],
    });
    t.after(() => driver.close());
    await eventuallyPasses(async () => assert.ok(driver.registered.length > 0));
    if (index < 2) assert.equal(node.plugins.get(`d${index}.example.com`).service, wanted);
    else assert.deepEqual(driver.registered[0], { pluginRegistered: false, error: wanted });
  }
});

test("a driver that has v1beta1 only prepares and unprepares", async (t) => {
  const node = draNode(cluster, "beta");
  t.after(() => node.close());
  const calls: string[] = [];
  const endpoint = join(node.root, "var/lib/kubelet/beta.sock");
  const servers = [
    await unixServer(endpoint, [
      service(V1beta1Definition, {
        async nodePrepareResources({ claims }) {
          calls.push("prepare");
          const device = { requestNames: ["gpu"], poolName: "p", deviceName: "d", cdiDeviceIds: ["v/c=d"] };
          return {
            claims: Object.fromEntries(claims.map(({ uid }) => [uid, { devices: [device], error: "" }])),
          };
        },
        async nodeUnprepareResources({ claims }) {
          calls.push("unprepare");
          return { claims: Object.fromEntries(claims.map(({ uid }) => [uid, { error: "" }])) };
        },
      }),
    ]),
    await registrationSocket(node.root, { endpoint, supportedVersions: ["v1beta1.DRAPlugin"] }),
  ];
  t.after(async () => {
    for (const server of servers) await server.close(0);
  });
  await eventuallyPasses(async () => assert.doesNotThrow(() => node.plugins.get(name)));
  const pod = await podWithClaims(cluster.admin, { node: "beta", name: "beta" }, [
    { podClaim: "gpu", name: "beta", results: [allocated(name)] },
  ]);
  await node.manager.prepare(pod);
  const [main] = pod.spec.containers;
  assert.deepEqual(main && node.manager.cdiDevices(pod, main), ["v/c=d"]);
  await node.manager.unprepare(pod.metadata.uid);
  assert.deepEqual(calls, ["prepare", "unprepare"]);
});

interface RegistrationCalls {
  info(): void;
  notify(registered: boolean): void;
}

function registrationSocket(
  root: string,
  { type = "DRAPlugin", endpoint, supportedVersions }: Omit<PluginInfo, "name" | "type"> & { type?: string },
  calls: Partial<RegistrationCalls> = {},
): Promise<RpcServer> {
  return unixServer(join(root, "var/lib/kubelet/plugins_registry/x-reg.sock"), [
    service(RegistrationDefinition, {
      async getInfo() {
        calls.info?.();
        return { type, name, endpoint, supportedVersions };
      },
      async notifyRegistrationStatus({ pluginRegistered }) {
        calls.notify?.(pluginRegistered);
        return {};
      },
    }),
  ]);
}

test("a failed registration is retried with back-off, and one whose notification fails is undone", async (t) => {
  const clock = skipClock();
  const node = draNode(cluster, "retries", { clock });
  t.after(() => node.close());
  const asked: number[] = [];
  const notified: boolean[] = [];
  const server = await registrationSocket(
    node.root,
    { endpoint: "/var/lib/kubelet/none.sock", supportedVersions: ["v1.DRAPlugin"] },
    {
      info() {
        asked.push(clock.now());
        if (asked.length <= 3) throw new Error("not yet");
      },
      notify(registered) {
        notified.push(registered);
        if (notified.length === 1) throw new Error("not heard");
      },
    },
  );
  t.after(() => server.close(0));
  for (const [attempts, wait] of [
    [1, 500],
    [2, 1000],
    [3, 2000],
    [4, 4000],
  ] as const) {
    await eventuallyPasses(async () => assert.equal(asked.length, attempts));
    if (attempts === 4) await eventuallyPasses(async () => assert.deepEqual(notified, [true]));
    // The response has to be on its way before time passes.
    await eventuallyPasses(async () => {
      clock.skip(wait / 10);
      assert.ok(asked.length > attempts);
    });
    assert.ok((asked[attempts] ?? 0) - (asked[attempts - 1] ?? 0) >= wait, `${attempts}`);
  }
  await eventuallyPasses(async () => assert.deepEqual(notified, [true, true]));
  assert.doesNotThrow(() => node.plugins.get(name));
});

test("a socket that is made anew at the same path is another plugin: the old one goes first", async (t) => {
  const { log, all } = lines();
  const node = draNode(cluster, "again", { log });
  t.after(() => node.close());
  let driver = await testDriver(node.root, name);
  t.after(() => driver.close());
  await eventuallyPasses(async () => assert.equal(driver.registered.length, 1));
  await driver.close();
  driver = await testDriver(node.root, name);
  await eventuallyPasses(async () =>
    assert.deepEqual(driver.registered, [{ pluginRegistered: true, error: "" }]),
  );
  assert.deepEqual(
    all.map(({ message }) => message).filter((message) => message.startsWith("DRA driver")),
    ["DRA driver registered", "DRA driver unregistered", "DRA driver registered"],
  );
  await driver.close();
  await eventuallyPasses(async () =>
    assert.throws(() => node.plugins.get(name), /DRA driver \S+ is not registered/),
  );
});

test("of several instances the latest connected one is called; one endpoint belongs to one instance", async (t) => {
  const node = draNode(cluster, "rolling");
  t.after(() => node.close());
  const old = await testDriver(node.root, name, { suffix: "-1" });
  t.after(() => old.close());
  await eventuallyPasses(async () => assert.equal(old.registered.length, 1));
  const next = await testDriver(node.root, name, { suffix: "-2" });
  await eventuallyPasses(async () => assert.equal(next.registered.length, 1));
  // Registered last, but not connected: a connected instance is preferred.
  const lost = await testDriver(node.root, name, { suffix: "-3", endpoint: "/var/lib/kubelet/nobody.sock" });
  t.after(() => lost.close());
  await eventuallyPasses(async () => assert.equal(lost.registered.length, 1));
  await eventuallyPasses(async () => assert.match(node.plugins.get(name).endpoint, /dra-2\.sock$/));
  const thief = await testDriver(node.root, name, {
    suffix: "-4",
    endpoint: `/var/lib/kubelet/plugins/${name}/dra-2.sock`,
  });
  t.after(() => thief.close());
  await eventuallyPasses(async () => assert.equal(thief.registered[0]?.pluginRegistered, false));
  assert.match(thief.registered[0]?.error ?? "", /dra-2\.sock is already registered for DRA driver/);
  await next.close();
  await eventuallyPasses(async () => assert.match(node.plugins.get(name).endpoint, /dra-1\.sock$/));
});

test("a CSI plugin is ignored with one line, and receives no status", async (t) => {
  const { log, all } = lines();
  const clock = skipClock();
  const node = draNode(cluster, "csi", { log, clock });
  t.after(() => node.close());
  let asked = 0;
  const notified: boolean[] = [];
  const server = await registrationSocket(
    node.root,
    { type: "CSIPlugin", endpoint: "/var/lib/kubelet/plugins/csi/csi.sock", supportedVersions: ["1.0.0"] },
    { info: () => asked++, notify: (registered) => notified.push(registered) },
  );
  t.after(() => server.close(0));
  await eventuallyPasses(async () => assert.equal(asked, 1));
  await eventuallyPasses(async () => assert.equal(all.length, 1));
  clock.skip(300_000);
  const driver = await testDriver(node.root, name);
  t.after(() => driver.close());
  await eventuallyPasses(async () => assert.equal(driver.registered.length, 1));
  assert.deepEqual([asked, notified], [1, []]);
  assert.deepEqual(
    all.filter(({ message }) => message.includes("CSI")).map(({ fields }) => fields["socket"]),
    [join(node.root, "var/lib/kubelet/plugins_registry/x-reg.sock")],
  );
});

/** A wiper of one node, and its requests. */
function wiping(id: string, wipeDelay?: number) {
  const clock = skipClock();
  const node = draNode(cluster, id, { clock });
  const wiped: string[] = [];
  const failures: Error[] = [];
  const client = {
    resource: (kind: unknown) => ({
      async deleteCollection({ fieldSelector }: { fieldSelector: string }) {
        assert.equal(kind, ResourceSlice);
        wiped.push(fieldSelector);
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
      },
    }),
  } as unknown as Client;
  const wiper = new SliceWiper({
    client,
    clock,
    log: silentLog,
    nodeName: id,
    plugins: node.plugins,
    ...(wipeDelay === undefined ? {} : { wipeDelay }),
  });
  const close = async (): Promise<void> => {
    wiper.close();
    await node.close();
  };
  return { clock, node, wiped, failures, wiper, close };
}

for (const delay of [undefined, 20_000])
  test(`slices of a driver go ${(delay ?? 30_000) / 1000} s after it, once, unless it comes back`, async (t) => {
    const id = `wipe-${delay}`;
    const { clock, node, wiped, failures, wiper, close } = wiping(id, delay);
    t.after(close);
    const wait = delay ?? 30_000;
    await wiper.start();
    assert.deepEqual(wiped, [`spec.nodeName=${id}`]);
    let driver = await testDriver(node.root, name);
    t.after(() => driver.close());
    const connected = (): boolean => node.plugins.get(name).connected;
    const gone = (): void => assert.throws(() => node.plugins.get(name));
    await eventuallyPasses(async () => assert.ok(connected()));
    clock.skip(wait * 2);
    assert.equal(wiped.length, 1);
    await driver.close();
    await eventuallyPasses(async () => gone());
    clock.skip(wait / 2);
    driver = await testDriver(node.root, name);
    await eventuallyPasses(async () => assert.ok(connected()));
    clock.skip(wait * 2);
    assert.equal(wiped.length, 1, "it came back in time");
    await driver.close();
    await eventuallyPasses(async () => gone());
    failures.push(new Error("no"), new Error("no"));
    clock.skip(wait + 1000);
    await eventuallyPasses(async () => {
      clock.skip(500);
      assert.deepEqual(wiped.slice(1), new Array(3).fill(`spec.nodeName=${id},spec.driver=${name}`));
    });
    clock.skip(wait * 10);
    assert.equal(wiped.length, 4);
  });

test("slices of a registered but unreachable driver are deleted; another registration does not extend the delay", async (t) => {
  const { clock, node, wiped, close } = wiping("unreached");
  t.after(close);
  const driver = await testDriver(node.root, name, { endpoint: "/var/lib/kubelet/nobody.sock" });
  t.after(() => driver.close());
  await eventuallyPasses(async () => assert.doesNotThrow(() => node.plugins.get(name)));
  clock.skip(20_000);
  const other = await testDriver(node.root, name, {
    suffix: "-2",
    endpoint: "/var/lib/kubelet/nobody-2.sock",
  });
  t.after(() => other.close());
  await eventuallyPasses(async () => assert.equal(other.registered.length, 1));
  assert.deepEqual(wiped, []);
  clock.skip(11_000);
  await eventuallyPasses(async () =>
    assert.deepEqual(wiped, [`spec.nodeName=unreached,spec.driver=${name}`]),
  );
});
