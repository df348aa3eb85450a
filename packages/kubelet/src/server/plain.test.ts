import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { ConnectionLimit } from "@dray/streams";
import { PlainServer } from "./plain.ts";

test("a page of another site gets nothing of the endpoints without authentication", async () => {
  const listening = createServer();
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  const { port } = listening.address() as AddressInfo;
  await new Promise((resolve) => listening.close(resolve));
  const server = new PlainServer(
    new Map([["/metrics", { contentType: "text/plain", read: async () => "m 1\n" }]]),
    new ConnectionLimit(8),
    systemClock,
  );
  await server.listen({ port, host: "127.0.0.1" });
  const status = (path: string, headers: IncomingHttpHeaders): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port, path, headers, agent: false }, (response) => {
        response.resume();
        assert.deepEqual(
          Object.keys(response.headers).filter((name) => name.startsWith("access-control")),
          [],
        );
        resolve(response.statusCode);
      })
        .once("error", reject)
        .end();
    });
  try {
    assert.equal(
      await status("/metrics", { host: `localhost:${port}`, origin: "https://evil.example" }),
      200,
    );
    assert.equal(await status("/metrics", { host: "evil.example" }), 421);
    assert.equal(await status("http://[", { host: "localhost" }), 500);
    assert.equal(await status("/metrics", { host: "127.0.0.1" }), 200);
  } finally {
    await server.close();
  }
});
