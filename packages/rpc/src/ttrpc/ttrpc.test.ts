import assert from "node:assert/strict";
import { once } from "node:events";
import { duplexPair } from "node:stream";
import { test } from "node:test";
import { Empty, RegisterPluginRequest, RuntimeDefinition } from "@dray/rpc/nri/v1alpha1";
import { eventLoopTurns } from "@dray/testing/clock";
import { eventually } from "@dray/testing/eventually";
import { Request } from "../generated/ttrpc/v1.ts";
import { RpcError, serveTtrpc, service, ttrpcClient } from "../index.ts";
import { frameBytes } from "./frames.ts";

const name = "p".repeat(100);
const register = RegisterPluginRequest.fromPartial({ pluginName: name, pluginIdx: "00" });

function pair(handler: (request: RegisterPluginRequest) => Promise<Empty>) {
  const [near, far] = duplexPair();
  serveTtrpc(far, [
    service(RuntimeDefinition, {
      registerPlugin: handler,
      updateContainers: async ({ update }) => {
        throw new RpcError("FailedPrecondition", `${update.length} updates`);
      },
    }),
  ]);
  return { near, far, client: ttrpcClient(near) };
}

test("calls are answered by number, not in turn, and errors keep their code", async () => {
  const waiting: (() => void)[] = [];
  const { client } = pair(async ({ pluginIdx }) => {
    if (pluginIdx === "00") await new Promise<void>((resolve) => waiting.push(resolve));
    return Empty.fromPartial({});
  });
  const runtime = client.caller(RuntimeDefinition);
  const first = runtime.registerPlugin(register);
  await runtime.registerPlugin({ ...register, pluginIdx: "01" });
  await assert.rejects(
    runtime.updateContainers({ update: [], evict: [] }),
    /code = FailedPrecondition desc = 0 updates/,
  );
  waiting[0]!();
  await first;
});

test("a call ends with its timeout, its signal, or the connection", async () => {
  const { client, far } = pair(() => new Promise(() => {}));
  const runtime = client.caller(RuntimeDefinition);
  await assert.rejects(runtime.registerPlugin(register, { timeout: 5 }), /DeadlineExceeded/);
  const cancel = new AbortController();
  const cancelled = runtime.registerPlugin(register, { signal: cancel.signal });
  cancel.abort();
  await assert.rejects(cancelled, /Canceled/);
  const lost = runtime.registerPlugin(register);
  far.destroy();
  await assert.rejects(lost, /Unavailable desc = ttrpc: closed/);
  await client.closed;
  await assert.rejects(runtime.registerPlugin(register), /Unavailable/);
});

test("messages above 4 MiB are refused on either side, and the connection lives on", async () => {
  const { client, near } = pair(async () => Empty.fromPartial({}));
  const runtime = client.caller(RuntimeDefinition);
  const long = { ...register, pluginName: "x".repeat(5 << 20) };
  await assert.rejects(runtime.registerPlugin(long), /ResourceExhausted.*limit is 4194304/);
  const answers: Buffer[] = [];
  near.on("data", (chunk: Buffer) => answers.push(chunk));
  near.write(frameBytes(1, 1, Buffer.alloc(5 << 20)));
  while (answers.length === 0) await once(near, "data");
  assert.match(Buffer.concat(answers).toString("latin1"), /a request of 5242880 bytes, the limit is 4194304/);
});

test("bytes may be cut anywhere", async () => {
  const [near, far] = duplexPair();
  const [inner, outer] = duplexPair();
  const seen: string[] = [];
  serveTtrpc(inner, [
    service(RuntimeDefinition, {
      registerPlugin: async ({ pluginIdx }) => {
        seen.push(pluginIdx);
        return Empty.fromPartial({});
      },
      updateContainers: async () => ({ failed: [] }),
    }),
  ]);
  far.on("data", (chunk: Buffer) => {
    for (const byte of chunk) outer.write(Buffer.of(byte));
  });
  outer.on("data", (chunk: Buffer) => {
    for (const byte of chunk) far.write(Buffer.of(byte));
  });
  const runtime = ttrpcClient(near).caller(RuntimeDefinition);
  await Promise.all(["00", "01"].map((pluginIdx) => runtime.registerPlugin({ ...register, pluginIdx })));
  assert.deepEqual(seen, ["00", "01"]);
});

test("a client that reads no responses is not read either", async () => {
  let served = 0;
  const [near, far] = duplexPair();
  serveTtrpc(far, [
    service(RuntimeDefinition, {
      registerPlugin: async () => {
        served++;
        return Empty.fromPartial({});
      },
      updateContainers: async () => ({ failed: [] }),
    }),
  ]);
  const payload = RegisterPluginRequest.encode(register).finish();
  const call = Request.fromPartial({
    service: "nri.pkg.api.v1alpha1.Runtime",
    method: "RegisterPlugin",
    payload,
  });
  const bytes = Request.encode(call).finish();
  const count = 100_000;
  let stream = 1;
  const send = (): void => {
    while (stream < 2 * count) {
      const frame = frameBytes(stream, 1, bytes);
      stream += 2;
      if (!near.write(frame)) return void near.once("drain", send);
    }
  };
  send();
  await eventuallyIdle(() => served);
  assert.ok(served > 0 && served < count / 2, `${served} of ${count}`);
  assert.ok(far.writableLength < 1 << 20, `${far.writableLength} bytes wait`);
  near.on("data", () => {});
  await eventually("all are answered", () => served === count);
  near.destroy();
});

/** Waits until a number no longer grows. */
async function eventuallyIdle(value: () => number): Promise<void> {
  for (let last = -1; last !== value(); ) {
    last = value();
    await eventLoopTurns(100);
  }
}

test("a method or service that is not there is Unimplemented", async () => {
  const { client } = pair(async () => Empty.fromPartial({}));
  const { registerPlugin } = RuntimeDefinition.methods;
  const other = {
    ...RuntimeDefinition,
    methods: { registerPlugin: { ...registerPlugin, name: "Other" } },
  } as const;
  await assert.rejects(
    client.caller(other).registerPlugin(register),
    /Unimplemented.*no method nri.pkg.api.v1alpha1.Runtime\/Other/,
  );
});

test("a client that breaks the protocol loses its connection", async () => {
  for (const bytes of [
    frameBytes(2, 1, Buffer.of()),
    frameBytes(1, 2, Buffer.of()),
    frameBytes(1, 9, Buffer.of()),
  ]) {
    const { near } = pair(async () => Empty.fromPartial({}));
    near.write(bytes);
    await once(near, "close");
  }
  const { near } = pair(async () => Empty.fromPartial({}));
  near.write(frameBytes(1, 1, Buffer.from("ff", "hex")));
  const [answer] = (await once(near, "data")) as [Buffer];
  assert.match(answer.toString("latin1"), /a message that cannot be read/);
});
