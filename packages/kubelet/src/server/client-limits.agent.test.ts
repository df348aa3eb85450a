import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect } from "node:tls";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { Budget, ConnectionLimit } from "@dray/streams";
import { podBecomes, podOn, testCluster } from "../testing/cluster.ts";
import { upgradeTo } from "../testing/streaming-client.ts";

test("the nodes of a process share the limits of their clients", async (t) => {
  const cluster = await testCluster();
  t.after(() => cluster.close());
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  const clientLimits = { connections: new ConnectionLimit(3), streams: new Budget(1) };
  const [one, two] = [await cluster.node("n1", { clientLimits }), await cluster.node("n2", { clientLimits })];
  for (const [node, name] of [
    ["n1", "first"],
    ["n2", "second"],
  ] as const) {
    const command = ["sleep", "1000"];
    await cluster.admin.resource(Pod).create(podOn(node, name, { containers: [{ name: "main", command }] }));
    const isRunning = ({ status }: Pod): boolean => status?.phase === "Running";
    await podBecomes(cluster.admin, { namespace: "default", name }, isRunning);
  }
  const exec = (port: number, pod: string) => {
    const path = `/exec/default/${pod}/main?output=1&command=cat`;
    return upgradeTo({ cluster, port }, path, { "x-stream-protocol-version": "v4.channel.k8s.io" });
  };
  const first = await exec(one.port, "first");
  assert.equal(first.status, 101);
  const rejected = await exec(two.port, "second");
  assert.equal(rejected.status, 429);
  assert.ok("text" in rejected);
  assert.match(rejected.text, /^1 logs, commands and forwarded ports are open .* \(`ulimit -n`\)/);
  // The one in use stays; idle ones of both nodes make room.
  for (const { port } of [one, two, one, two]) {
    const idle = connect({ port, host: "127.0.0.1", ca: cluster.authority.certificate });
    idle.on("error", () => {});
    await once(idle, "secureConnect");
    t.after(() => idle.destroy());
  }
  assert.ok(first.socket !== undefined && !first.socket.destroyed);
  first.socket.destroy();
  // The node notices the end of the connection after its client.
  let answer = await exec(two.port, "second");
  while (answer.status === 429) answer = await exec(two.port, "second");
  assert.equal(answer.status, 101);
  answer.socket?.destroy();
});
