import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { type RpcServer, service, unixChannel, unixServer } from "@dray/rpc";
import {
  DevicePluginDefinition,
  ListAndWatchResponse,
  RegistrationDefinition,
} from "@dray/rpc/deviceplugin/v1beta1";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { Kubelet } from "../index.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { device, type TestPlugin, testPlugin } from "../testing/device-plugin.ts";

const good = "example.com/good";
const bad = "example.com/bad";

let cluster: TestCluster;
let node: Kubelet;
let plugin: TestPlugin;
const directory = (): string => join(cluster.rootDir("n1"), "var/lib/kubelet/device-plugins");

before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  node = await cluster.node("n1");
  plugin = await testPlugin({
    directory: directory(),
    name: "good.sock",
    devices: [device("a"), device("b")],
  });
  await plugin.register(good);
});
after(async () => {
  await plugin?.close();
  await cluster?.close();
});

const amount = async (resource: string): Promise<string | undefined> =>
  (await cluster.admin.resource(Node).get({ name: "n1" })).status?.allocatable?.[resource];

let pods = 0;
/** A pod that asks for a device of a resource, when it has ended or waits. */
async function run(resource: string, command: string): Promise<Pod> {
  const name = `p${pods++}`;
  const limits = { [resource]: "1" };
  await cluster.admin.resource(Pod).create(
    podOn("n1", name, {
      restartPolicy: "Never",
      containers: [{ name: "main", command: ["sh", "-c", command], resources: { limits, requests: limits } }],
    }),
  );
  return podBecomes(cluster.admin, { namespace: "default", name }, ({ status }) =>
    ["Succeeded", "Failed"].includes(status?.phase ?? ""),
  );
}

/** Bytes in place of a message. */
const raw = {
  encode: (bytes: Uint8Array) => ({ finish: () => bytes }),
  decode: (bytes: Uint8Array) => bytes,
};

/** Responses of a plugin, byte for byte. */
interface Answers {
  readonly options?: Uint8Array;
  readonly devices?: readonly Uint8Array[];
  readonly allocate?: Uint8Array;
}

async function rawPlugin(name: string, answers: Answers): Promise<RpcServer> {
  const ended = new AbortController();
  const { methods } = DevicePluginDefinition;
  const definition = {
    ...DevicePluginDefinition,
    methods: {
      ...methods,
      getDevicePluginOptions: { ...methods.getDevicePluginOptions, responseType: raw },
      listAndWatch: { ...methods.listAndWatch, responseType: raw },
      allocate: { ...methods.allocate, responseType: raw },
    },
  };
  const implementation = {
    getDevicePluginOptions: async () => answers.options ?? new Uint8Array(),
    async *listAndWatch(_: unknown, call: { signal: AbortSignal }) {
      for (const bytes of answers.devices ?? []) yield bytes;
      const signal = AbortSignal.any([call.signal, ended.signal]);
      if (!signal.aborted)
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    },
    allocate: async () => answers.allocate ?? new Uint8Array(),
    getPreferredAllocation: async () => ({ containerResponses: [] }),
    preStartContainer: async () => ({}),
  };
  const server = await unixServer(join(directory(), name), [
    service(definition as never, implementation as never),
  ]);
  return {
    ...server,
    close(grace) {
      ended.abort();
      return server.close(grace);
    },
  };
}

async function register(resourceName: string, endpoint: string): Promise<void> {
  const channel = unixChannel(join(directory(), "kubelet.sock"));
  try {
    await channel
      .caller(RegistrationDefinition)
      .register({ version: "v1beta1", endpoint, resourceName, options: undefined }, { timeout: 30_000 });
  } finally {
    channel.close();
  }
}

const list = (ids: readonly string[]): Uint8Array =>
  ListAndWatchResponse.encode({ devices: ids.map((ID) => device(ID)) }).finish();

/** Repeats `bytes` up to a size. */
const repeated = (bytes: readonly number[], size: number): Uint8Array =>
  Buffer.alloc(size - (size % bytes.length), Buffer.from(bytes));

for (const [what, devices] of [
  ["bytes that are no message", Buffer.from("ffffffffffffffffffffff", "hex")],
  ["a message that ends in the middle", list(["a", "b", "c"]).slice(0, -3)],
  ["a text in place of its lists", Buffer.from("<html>no plugin</html>")],
  ["groups in groups without an end", repeated([0x0b], 100_000)],
  ["a length beyond all bounds", Buffer.from("0affffffff0f", "hex")],
  ["two million devices without a name", repeated([0x0a, 0x00], 4_000_000)],
  ["a message of 5 MB", list(["x".repeat(5_000_000)])],
] as const)
  test(`a plugin that reports ${what} is left, and another's devices go on`, async () => {
    await eventuallyPasses(async () => assert.equal(await amount(good), "2"));
    const server = await rawPlugin("bad.sock", { devices: [devices] });
    try {
      await register(bad, "bad.sock");
      await eventuallyPasses(async () => {
        const { status } = await cluster.admin.resource(Node).get({ name: "n1" });
        assert.equal(status?.allocatable?.[bad], "0");
      });
      const pod = await run(good, '[ "$DEVICES" = a ] || [ "$DEVICES" = b ]');
      assert.equal(pod.status?.phase, "Succeeded", JSON.stringify(pod.status));
      const refused = await run(bad, "true");
      assert.equal(refused.status?.phase, "Failed");
      assert.match(refused.status?.message ?? "", /bad/);
    } finally {
      await server.close(0);
    }
  });

test("a plugin with malformed options or responses fails its own pods only", async () => {
  const garbage = Buffer.from("ffffffffffffffffffffff", "hex");
  const mute = await rawPlugin("mute.sock", { options: garbage });
  await assert.rejects(register("example.com/mute", "mute.sock"), /failed to get device plugin options/);
  await mute.close(0);
  const server = await rawPlugin("bad.sock", { devices: [list(["a"])], allocate: garbage });
  try {
    await register(bad, "bad.sock");
    await eventuallyPasses(async () => assert.equal(await amount(bad), "1"));
    const [mine, others] = await Promise.all([run(bad, "true"), run(good, "true")]);
    assert.deepEqual(
      [mine.status?.phase, mine.status?.reason, others.status?.phase],
      ["Failed", "UnexpectedAdmissionError", "Succeeded"],
    );
    // The refused pod holds no device.
    assert.equal(await amount(bad), "1");
  } finally {
    await server.close(0);
  }
});

test("IDs of devices are texts, whatever they look like, and outlive the agent", async () => {
  const ids = ["../../../../etc/passwd", "/", "a=b", "$(reboot)", "a\nb", "__proto__", "constructor", "ü 💡"];
  const serve = (): Promise<TestPlugin> =>
    testPlugin({
      directory: directory(),
      name: "odd.sock",
      devices: ids.map((id) => device(id)),
    });
  let odd = await serve();
  try {
    odd.allocate = (asked) => ({ envs: { DEVICE: JSON.stringify(asked), COUNT: String(asked.length) } });
    await odd.register("example.com/odd");
    await eventuallyPasses(async () => assert.equal(await amount("example.com/odd"), String(ids.length)));
    const name = `p${pods++}`;
    const limits = { "example.com/odd": String(ids.length) };
    await cluster.admin.resource(Pod).create(
      podOn("n1", name, {
        containers: [
          {
            name: "main",
            command: ["sh", "-c", `[ "$COUNT" = ${ids.length} ] && exec sleep 1000`],
            resources: { limits, requests: limits },
          },
        ],
      }),
    );
    const ref = { namespace: "default", name };
    const health = ({ status }: Pod): readonly string[] =>
      (status?.containerStatuses?.[0]?.allocatedResourcesStatus?.[0]?.resources ?? [])
        .map(({ resourceID }) => resourceID)
        .toSorted();
    const started = await podBecomes(cluster.admin, ref, (pod) => health(pod).length === ids.length);
    assert.deepEqual(health(started), ids.toSorted());
    assert.deepEqual(
      odd.calls.map((call) => call.split(" ")[0]),
      ["allocate"],
    );
    await node.stop({ leavePods: true });
    node = await cluster.node("n1");
    assert.equal(existsSync(join(directory(), "odd.sock")), false, "a plugin notices by that");
    await odd.close();
    odd = await serve();
    await odd.register("example.com/odd");
    const { status } = await podBecomes(
      cluster.admin,
      ref,
      (pod) => pod.status?.containerStatuses?.[0]?.ready === true && health(pod).length === ids.length,
    );
    assert.equal(status?.containerStatuses?.[0]?.restartCount, 0);
  } finally {
    await odd.close();
  }
});
