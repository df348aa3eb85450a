import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { DRAResourceHealthDefinition, HealthStatus } from "@dray/rpc/drahealth/v1";
import { HealthDefinition } from "@dray/rpc/grpchealth/v1";
import { eventually } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import {
  checkReachableSocketPath,
  checkSocketPath,
  type Handlers,
  RpcError,
  type RpcServer,
  service,
  tcpChannel,
  tcpServer,
  unixChannel,
  unixServer,
} from "../index.ts";

const folder = temporaryFolder({ after });

const echo: Handlers<typeof DRAPluginDefinition> = {
  async nodePrepareResources({ claims }) {
    return {
      claims: Object.fromEntries(
        claims.map((claim) => [
          claim.uid,
          {
            devices: [
              {
                requestNames: ["gpu"],
                poolName: "node-a",
                deviceName: claim.name,
                cdiDeviceIds: ["vendor.com/gpu=0"],
                shareId: "share",
              },
            ],
            error: "",
          },
        ]),
      ),
    };
  },
  async nodeUnprepareResources() {
    throw new Error("device is busy");
  },
};

function serve(name: string, handlers = echo): Promise<RpcServer> {
  return unixServer(join(folder, name), [service(DRAPluginDefinition, handlers)]);
}

const claim = { namespace: "default", uid: "uid-1", name: "gpu-0" };

test("a call crosses a unix socket and comes back whole", async () => {
  const server = await serve("call.sock");
  const channel = unixChannel(server.address);
  const answer = await channel
    .caller(DRAPluginDefinition)
    .nodePrepareResources({ claims: [claim] }, { timeout: 2000 });
  assert.deepEqual(answer.claims["uid-1"]?.devices[0], {
    requestNames: ["gpu"],
    poolName: "node-a",
    deviceName: "gpu-0",
    cdiDeviceIds: ["vendor.com/gpu=0"],
    shareId: "share",
  });
  channel.close();
  await server.close();
  assert.equal(existsSync(server.address), false, "the socket is removed");
});

test("a handler's error is code Unknown with its message, an RpcError keeps its code", async () => {
  const server = await serve("errors.sock", {
    ...echo,
    async nodePrepareResources() {
      throw new RpcError("FailedPrecondition", "not yet");
    },
  });
  const channel = unixChannel(server.address);
  const caller = channel.caller(DRAPluginDefinition);
  await assert.rejects(caller.nodeUnprepareResources({ claims: [] }), {
    name: "RpcError",
    code: "Unknown",
    message: "rpc error: code = Unknown desc = device is busy",
  });
  await assert.rejects(caller.nodePrepareResources({ claims: [] }), {
    code: "FailedPrecondition",
    detail: "not yet",
  });
  await assert.rejects(
    (async () => {
      for await (const _ of channel.caller(DRAResourceHealthDefinition).nodeWatchResources({})) break;
    })(),
    { code: "Unimplemented" },
  );
  channel.close();
  await server.close();
});

test("a deadline and a signal end a call, and cancel it on the server", async () => {
  const begun: string[] = [];
  const ended: string[] = [];
  const server = await serve("deadline.sock", {
    ...echo,
    nodePrepareResources: (request, { signal }) =>
      new Promise((_, reject) => {
        begun.push(request.claims[0]!.uid);
        signal.addEventListener("abort", () => {
          ended.push(request.claims[0]!.uid);
          reject(signal.reason);
        });
      }),
  });
  const channel = unixChannel(server.address);
  const caller = channel.caller(DRAPluginDefinition);
  await assert.rejects(
    caller.nodePrepareResources({ claims: [{ ...claim, uid: "deadline" }] }, { timeout: 100 }),
    { code: "DeadlineExceeded" },
  );
  const stop = new AbortController();
  const call = caller.nodePrepareResources(
    { claims: [{ ...claim, uid: "signal" }] },
    { signal: stop.signal },
  );
  await eventually("the server has the call", () => begun.includes("signal"));
  stop.abort();
  await assert.rejects(call, { code: "Canceled" });
  await eventually("both end on the server", () => ended.length >= 2);
  assert.deepEqual(ended, ["deadline", "signal"]);
  channel.close();
  await server.close();
});

test("a stream delivers each message, and leaving the loop ends it on the server", async () => {
  let ended = false;
  const server = await unixServer(join(folder, "stream.sock"), [
    service(DRAResourceHealthDefinition, {
      async *nodeWatchResources(_, { signal }) {
        signal.addEventListener("abort", () => {
          ended = true;
        });
        for (let i = 0; ; i++) {
          yield {
            devices: [
              {
                device: { poolName: "node-a", deviceName: `gpu-${i}` },
                health: HealthStatus.UNHEALTHY,
                lastUpdatedTime: 1_800_000_000,
                healthCheckTimeoutSeconds: 30,
                message: "hot",
              },
            ],
          };
        }
      },
    }),
  ]);
  const channel = unixChannel(server.address);
  const names: string[] = [];
  for await (const message of channel.caller(DRAResourceHealthDefinition).nodeWatchResources({})) {
    names.push(message.devices[0]!.device!.deviceName);
    if (names.length === 3) break;
  }
  assert.deepEqual(names, ["gpu-0", "gpu-1", "gpu-2"]);
  await eventually("it ends on the server", () => ended);
  assert.equal(ended, true);
  channel.close();
  await server.close();
});

test("a watched connection reports its loss and its return", async () => {
  const path = join(folder, "watch.sock");
  let server = await serve("watch.sock");
  const channel = unixChannel(path);
  const seen: boolean[] = [];
  const reach = async (length: number) => {
    await eventually(`${length} states`, () => seen.length >= length);
    assert.equal(seen.length, length, `saw ${seen}`);
  };
  const stop = channel.watchConnected((connected) => seen.push(connected));
  await reach(2);
  await server.close();
  await reach(3);
  server = await serve("watch.sock");
  await reach(4);
  assert.deepEqual(seen, [false, true, false, true]);
  stop();
  channel.close();
  await server.close();
});

test("a socket without a server: ready rejects in time, a call is Unavailable", async () => {
  const channel = unixChannel(join(folder, "nobody.sock"));
  await assert.rejects(channel.ready(200), { code: "DeadlineExceeded" });
  await assert.rejects(
    channel.caller(DRAPluginDefinition).nodePrepareResources({ claims: [] }, { timeout: 1000 }),
    { code: "Unavailable" },
  );
  channel.close();
});

test("a closed channel ends what waits on it", async () => {
  const channel = unixChannel(join(folder, "nobody.sock"));
  const waiting = channel.ready(60_000);
  channel.watchConnected(() => {});
  setImmediate(() => channel.close());
  await assert.rejects(waiting, { code: "Canceled" });
});

test("a stale socket is replaced, any other file is not", async () => {
  const path = join(folder, "stale.sock");
  // A server that closes without unlinking leaves the same socket as a killed one.
  const killed = createServer().listen(path);
  await new Promise((resolve) => killed.once("listening", resolve));
  const server = await serve("stale.sock");
  const channel = unixChannel(path);
  await channel.ready(2000);
  channel.close();
  await server.close();
  killed.close();

  writeFileSync(join(folder, "file"), "precious");
  await assert.rejects(serve("file"), { message: `${join(folder, "file")} exists and is not a socket` });
});

test("paths of sockets: 107 bytes and no more", () => {
  checkSocketPath(`/${"a".repeat(106)}`);
  assert.throws(() => checkSocketPath(`/${"ü".repeat(54)}`), /has 109 bytes, at most 107 are possible/);
  assert.throws(() => unixChannel("relative.sock"), /must be absolute/);
});

const linuxOnly = { skip: process.platform !== "linux" && "other systems have no /proc" };

test("a client reaches a socket whose path is longer than a server's can be", linuxOnly, async () => {
  const long = join(folder, "y".repeat(60), "z".repeat(60));
  mkdirSync(long, { recursive: true });
  const path = join(long, "dra.sock");
  checkReachableSocketPath(path);
  assert.throws(() => checkReachableSocketPath(join(folder, "x".repeat(100))), /at most 107 are possible/);
  const openFolders = () =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(join(folder, "y"));
      } catch {
        return false;
      }
    });
  const first = await serve("short.sock");
  renameSync(join(folder, "short.sock"), path);
  const channel = unixChannel(path);
  const caller = channel.caller(DRAPluginDefinition);
  const ask = () => caller.nodePrepareResources({ claims: [claim] }, { timeout: 5000 });
  assert.deepEqual(Object.keys((await ask()).claims), ["uid-1"]);
  await first.close(0);

  // The channel also reaches a server in a new folder of the same name.
  rmSync(long, { recursive: true });
  mkdirSync(long);
  const second = await serve("short.sock");
  renameSync(join(folder, "short.sock"), path);
  await channel.ready(5000);
  assert.deepEqual(Object.keys((await ask()).claims), ["uid-1"]);
  channel.close();
  channel.close();
  assert.deepEqual(openFolders(), []);
  await second.close(0);
});

test("health over TCP", async () => {
  const server = await tcpServer("127.0.0.1", 0, [
    service(HealthDefinition, {
      async check({ service }) {
        return { status: service === "liveness" ? 1 : 3 };
      },
      async *watch() {
        yield { status: 1 };
      },
    }),
  ]);
  const channel = tcpChannel(server.address);
  assert.deepEqual(await channel.caller(HealthDefinition).check({ service: "liveness" }), { status: 1 });
  channel.close();
  await server.close();
});

test("received messages are limited to 4 MiB, as in Go, and the text of an error to 4096 characters", async () => {
  const long = "x".repeat(10_000);
  const server = await serve("limits.sock", {
    async nodePrepareResources({ claims }) {
      return {
        claims: { a: { devices: [], error: "x".repeat(Number(claims[0]?.name)) } },
      };
    },
    async nodeUnprepareResources() {
      throw new RpcError("Internal", long);
    },
  });
  const channel = unixChannel(server.address);
  const caller = channel.caller(DRAPluginDefinition);
  const ask = (size: number) =>
    caller.nodePrepareResources({ claims: [{ namespace: "", uid: "", name: String(size) }] });
  assert.equal((await ask(4_000_000)).claims["a"]?.error.length, 4_000_000);
  await assert.rejects(ask(5_000_000), (error) => RpcError.is(error, "ResourceExhausted"));
  await assert.rejects(caller.nodeUnprepareResources({ claims: [] }), (error) => {
    assert.ok(RpcError.is(error, "Internal"));
    assert.equal(error.detail, `${"x".repeat(4096)}... (10000 characters, shortened)`);
    assert.ok(!JSON.stringify(error.cause ?? "").includes(long));
    return true;
  });
  channel.close();
  await server.close(0);
});

test("maxSendBytes and maxReceiveBytes allow larger responses, up to their value", async () => {
  const maxBytes = 16 << 20;
  let error = "x".repeat(15_000_000);
  const handlers: Handlers<typeof DRAPluginDefinition> = {
    ...echo,
    async nodeUnprepareResources() {
      return { claims: { uid: { error } } };
    },
  };
  const server = await unixServer(join(folder, "wide.sock"), [service(DRAPluginDefinition, handlers)], {
    maxSendBytes: maxBytes,
  });
  const channel = unixChannel(server.address, { maxReceiveBytes: maxBytes });
  const { nodeUnprepareResources } = channel.caller(DRAPluginDefinition);
  for (let i = 0; i < 3; i++)
    assert.deepEqual(await nodeUnprepareResources({ claims: [] }), { claims: { uid: { error } } });
  error = "x".repeat(17_000_000);
  await assert.rejects(nodeUnprepareResources({ claims: [] }), { code: "ResourceExhausted" });
  channel.close();
  await server.close(0);
});

test("answers that are too large leave the connection usable", async () => {
  let error = "x".repeat(15_000_000);
  const server = await serve("large.sock", {
    ...echo,
    async nodeUnprepareResources() {
      return { claims: { uid: { error } } };
    },
  });
  const channel = unixChannel(server.address);
  const { nodeUnprepareResources } = channel.caller(DRAPluginDefinition);
  for (let i = 0; i < 3; i++) {
    await assert.rejects(nodeUnprepareResources({ claims: [] }), {
      code: "ResourceExhausted",
      message: /message larger than max \(150000\d+ vs\.? 4194304\)/,
    });
  }
  error = "small";
  assert.deepEqual(await nodeUnprepareResources({ claims: [] }), { claims: { uid: { error } } });
  channel.close();
  await server.close(0);
});

test("a server loads gRPC for its first client, not before", async () => {
  const script = `
    import { service, unixChannel, unixServer } from "@dray/rpc";
    import { HealthDefinition } from "@dray/rpc/grpchealth/v1";
    const isLoaded = () => process.moduleLoadList.includes("NativeModule http2");
    const server = await unixServer(process.argv[1], [service(HealthDefinition, {
      check: async () => ({ status: 1 }),
      async *watch() {},
    })]);
    const before = isLoaded();
    const channel = unixChannel(server.address);
    const { status } = await channel.caller(HealthDefinition).check({ service: "" });
    channel.close();
    await server.close();
    console.log(JSON.stringify([before, status, isLoaded()]));
  `;
  const flags = [
    ...process.execArgv.filter((flag) => flag.startsWith("--conditions")),
    "--input-type=module",
  ];
  const said = await new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...flags, "--eval", script, join(folder, "lazy.sock")],
      { cwd: import.meta.dirname },
      (error, stdout) => (error === null ? resolve(JSON.parse(stdout)) : reject(error)),
    );
  });
  assert.deepEqual(said, [false, 1, true]);
});
