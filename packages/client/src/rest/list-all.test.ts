import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { createClient, httpsTransport, listAll, type ResourceClient } from "@dray/client";
import { sendJSON, testServer } from "../transport/testing.ts";

/** Seven pods in pages; `expireAt` is the page whose continue token has expired. */
async function withPods(
  expireAt: number | undefined,
  run: (pods: ResourceClient<Pod>, requests: readonly string[]) => Promise<void>,
): Promise<void> {
  const server = await testServer((request, response) => {
    const query = new URL(request.url, "https://x").searchParams;
    const from = Number(query.get("continue") ?? 0);
    const limit = Number(query.get("limit") ?? 100);
    if (query.has("continue") && from / limit === expireAt) {
      return sendJSON(response, 410, { kind: "Status", code: 410, reason: "Expired", message: "too old" });
    }
    if (query.get("labelSelector") === "gone") {
      return sendJSON(response, 410, { kind: "Status", code: 410, reason: "Expired", message: "at once" });
    }
    const items = Array.from({ length: 7 }, (_, i) => ({ metadata: { name: `p${i}` } }));
    sendJSON(response, 200, {
      kind: "PodList",
      metadata: { resourceVersion: "5", ...(from + limit < 7 ? { continue: String(from + limit) } : {}) },
      items: items.slice(from, from + limit),
    });
  });
  const transport = httpsTransport({ server: server.url, ca: server.ca });
  const client = createClient({ transport, userAgent: "t" });
  try {
    await run(client.resource(Pod), server.requests);
  } finally {
    client.close();
    await server.close();
  }
}

test("a list is read in pages, with the revision in the first request only", () =>
  withPods(undefined, async (pods, requests) => {
    const list = await listAll(pods, { limit: 3, resourceVersion: "0" });
    assert.equal(list.items.map((pod) => pod.metadata.name).join(), "p0,p1,p2,p3,p4,p5,p6");
    assert.deepEqual([list.resourceVersion, list.continue], ["5", undefined]);
    assert.deepEqual(requests, [
      "GET /api/v1/pods?resourceVersion=0&limit=3",
      "GET /api/v1/pods?limit=3&continue=3",
      "GET /api/v1/pods?limit=3&continue=6",
    ]);
    await listAll(pods);
    assert.equal(requests.at(-1), "GET /api/v1/pods?limit=500");
  }));

test("expired pages are replaced by the whole list; an expired first page is an error", () =>
  withPods(1, async (pods, requests) => {
    const list = await listAll(pods, {
      limit: 3,
      resourceVersion: "0",
      resourceVersionMatch: "NotOlderThan",
    });
    assert.equal(list.items.length, 7);
    assert.equal(requests.at(-1), "GET /api/v1/pods?resourceVersion=0&resourceVersionMatch=NotOlderThan");
    assert.equal(requests.length, 3);
    await assert.rejects(listAll(pods, { labelSelector: "gone" }), (error) =>
      StatusError.is(error, "Expired"),
    );
  }));
