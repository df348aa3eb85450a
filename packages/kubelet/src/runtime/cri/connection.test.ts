import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog, systemClock } from "@dray/client";
import { service, unixServer } from "@dray/rpc";
import { HealthDefinition, HealthCheckResponse_ServingStatus as Status } from "@dray/rpc/grpchealth/v1";
import { temporaryFolder } from "@dray/testing/folder";
import { CriRuntime } from "./runtime.ts";

const start = (endpoint: string, connectTimeout = 10_000) =>
  new CriRuntime({ endpoint, node: "node", clock: systemClock, log: silentLog, connectTimeout }).start();
const refusal = (message: RegExp) => (error: Error & { reason?: string }) => {
  assert.equal(error.name, "RuntimeError");
  assert.equal(error.reason, "RuntimeUnavailable");
  assert.match(error.message, message);
  return true;
};

test("the error of a missing runtime names the cause and a remedy", async (t) => {
  const folder = temporaryFolder(t);
  await assert.rejects(
    start("tcp://127.0.0.1:1"),
    refusal(/"tcp:\/\/127.0.0.1:1" must be the absolute path of a unix socket, with or without unix:\/\//),
  );
  await assert.rejects(
    start(join(folder, "none.sock")),
    refusal(/none.sock: there is no such socket: start containerd or CRI-O, or name the socket/),
  );
  const file = join(folder, "file");
  writeFileSync(file, "");
  await assert.rejects(start(`unix://${file}`), refusal(/file: is not a socket/));
  const path = join(folder, "other.sock");
  const server = await unixServer(path, [
    service(HealthDefinition, {
      check: async () => ({ status: Status.SERVING }),
      async *watch() {},
    }),
  ]);
  t.after(() => server.close());
  await assert.rejects(
    start(path),
    refusal(/other.sock: does not serve runtime.v1.RuntimeService \(CRI v1\); containerd needs version 1.6/),
  );
});

test("a socket without a response is an error within the timeout", async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, "mute.sock");
  const server = createServer((socket) => socket.destroy()).listen(path);
  t.after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  await assert.rejects(
    start(path, 200),
    refusal(/mute.sock: nothing answers on the socket: is the runtime running\?/),
  );
});
