import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { PodNetwork } from "./network.ts";
import { ask, busybox, folder, inside, missing, open, opened, serve } from "./testing.ts";

test("a pod cannot take the address of another, nor that of the machine", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  if (busybox === undefined) return t.skip("oci: busybox is not installed");
  const at = folder(t);
  const network = await open(at, "one");
  const [victim, evil] = [join(at, "victim"), join(at, "evil")] as const;
  const { ip } = await network.add("victim", victim, []);
  await network.add("evil", evil, []);
  await serve(t, victim, 80, "victim");
  await serve(t, evil, 80, "evil");
  assert.match(await ask(ip, 80), /^victim /);
  // A pod has the right to raw packets only, and would write these itself.
  await inside(evil, `ip addr add ${ip}/32 dev eth0; ${busybox} arping -U -c 2 -I eth0 ${ip} || true`);
  assert.match(await ask(ip, 80), /^victim /);
  // Nor the address of the machine for the other pod.
  const server = createServer((socket) => socket.end("machine")).listen(0, "0.0.0.0");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const { gateway } = network;
  await inside(
    evil,
    `ip addr add ${gateway}/32 dev eth0; ${busybox} arping -U -c 2 -I eth0 ${gateway} || true`,
  );
  assert.equal(await inside(victim, `${busybox} nc ${gateway} ${port} </dev/null`), "machine");
  for (const [name, namespace] of Object.entries({ victim, evil })) await network.remove(name, namespace);
});

test("two clusters with nodes of one name have a network each", async (t) => {
  if (missing !== undefined) return t.skip(missing);
  const places = [folder(t), folder(t)];
  const connected = await Promise.all(
    places.map(async (directory) => {
      const node = join(directory, "node");
      const network = await PodNetwork.open({ directory, nodeName: "worker-1", node });
      opened.get(directory)?.push(network);
      return { node, network };
    }),
  );
  for (const { node, network } of connected)
    assert.match(
      await inside(node, "ip -brief address show dev eth0"),
      new RegExp(` ${network.nodeAddress}/32 `),
    );
  assert.notEqual(connected[0]?.network.bridge, connected[1]?.network.bridge);
});
