import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { readExposition } from "@dray/testing/exposition";
import { serveHealth } from "./health-server.ts";

test("health, readiness and metrics are served", async () => {
  let synced = false;
  const server = await serveHealth({
    host: "127.0.0.1",
    port: 0,
    checks: [{ name: "synced", types: ["readyz"], passes: () => synced }],
    metrics: () => "m 1\n",
  });
  const ask = async (path: string, method = "GET"): Promise<[number, string]> => {
    const response = await fetch(server.url + path, { method });
    return [response.status, await response.text()];
  };
  try {
    assert.deepEqual(await ask("/healthz"), [200, "ok"]);
    assert.deepEqual(await ask("/livez?verbose"), [200, "[+]ping ok\nlivez check passed\n"]);
    assert.deepEqual(await ask("/readyz"), [
      500,
      "[+]ping ok\n[-]synced failed: reason withheld\nreadyz check failed\n",
    ]);
    synced = true;
    assert.deepEqual(await ask("/readyz"), [200, "ok"]);
    const [, slis] = await ask("/metrics/slis");
    assert.deepEqual(
      readExposition(slis)
        .get("kubernetes_healthcheck")
        ?.samples.map(({ labels, value }) => [labels["name"], labels["type"], value]),
      [
        ["ping", "healthz", 1],
        ["ping", "livez", 1],
        ["ping", "readyz", 1],
        ["synced", "readyz", 1],
      ],
    );
    assert.deepEqual(await ask("/metrics"), [200, "m 1\n"]);
    assert.deepEqual(await ask("/metrics", "HEAD"), [200, ""]);
    assert.equal((await ask("/metrics", "POST"))[0], 405);
    assert.equal((await ask("/other"))[0], 404);
    const { port } = new URL(server.url);
    assert.equal(await rawStatus(port, "http://["), 400);
    assert.equal(await rawStatus(port, "/metrics", "rebound.example.com:1"), 421);
    assert.deepEqual(await ask("/livez"), [200, "ok"]);
    await assert.rejects(
      serveHealth({ host: "127.0.0.1", port: Number(port), metrics: () => "" }),
      /EADDRINUSE/,
    );
  } finally {
    await server.close();
  }
});

/** Sends a target and a host that fetch would refuse. */
function rawStatus(port: string, path: string, host = "localhost"): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, path, headers: { host }, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .once("error", reject)
      .end();
  });
}
