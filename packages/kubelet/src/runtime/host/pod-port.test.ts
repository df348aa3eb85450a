import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { listeningPort, readUnprivilegedPortStart } from "../../network/host-ports.ts";
import { podPort } from "./pod-port.ts";

test("a port that needs a privilege has one in its place", () => {
  assert.deepEqual(
    [1, 80, 1023, 1024, 8080].map((port) => listeningPort(port, 1024)),
    [64513, 64592, 65535, 1024, 8080],
  );
  assert.deepEqual(
    [80, 443].map((port) => listeningPort(port, 100)),
    [64592, 443],
  );
  assert.equal(listeningPort(2000, 5000), 2000, "it would be no port");
});

test("a pod is found at the port in place of its own where it listens there", async (t) => {
  const address = "127.213.1.7";
  const moved = listeningPort(81, readUnprivilegedPortStart());
  const server = createServer().listen(moved, address);
  t.after(() => server.close());
  await once(server, "listening");
  assert.equal(podPort(address, 81), moved);
  assert.equal(podPort("127.213.1.8", 81), 81, "another pod does not");
  assert.equal(podPort(address, 82), 82, "nothing listens");
});
