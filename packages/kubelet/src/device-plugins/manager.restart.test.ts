import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventuallyPasses } from "@dray/testing/eventually";
import { device } from "../testing/device-plugin.ts";
import {
  admit,
  gpu,
  ids,
  refused,
  simplePod,
  start,
  testNode,
  waits,
} from "../testing/device-plugin-node.ts";

test("after a restart containers have their devices, and wait until the plugin has reported them", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b", 1)] });
  const pod = simplePod("p", 2);
  await admit(node, pod);
  const before = await start(node, pod);
  await node.restart({ kill: true });
  assert.equal(ids(node, pod), "a,b");
  const held = node.manager.devices("p", "main").toSorted((one, other) => (one.id < other.id ? -1 : 1));
  assert.deepEqual(held, [
    { resource: gpu, id: "a", numaNode: undefined },
    { resource: gpu, id: "b", numaNode: 1 },
  ]);
  assert.deepEqual([...node.manager.podUIDs()], ["p"]);
  assert.deepEqual(node.manager.resources().capacity, { [gpu]: "0" });
  // Admitted, since it has its devices, but not started.
  await admit(node, pod);
  await assert.rejects(
    start(node, pod),
    waits(/^device plugin for resource example\.com\/gpu has not yet reported devices; /),
  );
  assert.equal(node.manager.health("p", "main")[0]?.resources?.[0]?.health, "Unknown");
  const again = await node.plugin({ devices: [device("a"), device("b", 1, "Unhealthy")] });
  assert.equal(node.retries, 2);
  const unhealthy =
    "previously allocated devices are no longer healthy; cannot allocate unhealthy devices example.com/gpu";
  await assert.rejects(start(node, pod), waits(unhealthy));
  await assert.rejects(admit(node, simplePod("other", 1)), /Requested: 1, Available: 0/);
  again.report([device("a"), device("b", 1)]);
  await eventuallyPasses(async () => assert.equal(node.retries, 3));
  assert.deepEqual(await start(node, pod), before);
  assert.deepEqual([plugin.calls, again.calls], [["allocate a,b"], []]);

  await node.restart();
  await node.plugin({ devices: [device("a"), device("b", 1, "Unhealthy")] });
  await assert.rejects(admit(node, pod), refused(unhealthy));
  assert.equal(ids(node, pod), "");
});

test("after a reboot the plugin sets up the same devices anew before the container starts", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a"), device("b")] });
  const [pod, other] = [simplePod("p", 1), simplePod("q", 1)];
  await admit(node, pod);
  await admit(node, other);
  await node.restart({ boot: "boot-2" });
  await admit(node, pod);
  await assert.rejects(start(node, pod), waits(/has not yet reported devices/));
  const again = await node.plugin({ devices: [device("a"), device("b")] });
  again.allocate = () => ({ envs: { BOOT: "2" } });
  assert.deepEqual((await start(node, pod)).env, [["BOOT", "2"]]);
  await start(node, pod);
  assert.deepEqual(again.calls, ["allocate a"]);
  // The agent is killed before it has started the other pod, which is not forgotten.
  await node.restart({ kill: true, boot: "boot-2" });
  const third = await node.plugin({ devices: [device("a"), device("b")] });
  await start(node, other);
  assert.deepEqual(third.calls, ["allocate b"]);
});

test("a new pod waits a moment for a plugin that comes back after a restart, and is refused afterwards", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a")] });
  await node.restart();
  const pod = simplePod("p", 1);
  const admitted = admit(node, pod);
  await node.plugin({ devices: [device("a")] });
  await admitted;
  assert.equal(ids(node, pod), "a");
  node.manager.release("p");

  await node.restart();
  const late = admit(node, simplePod("q", 1));
  const checked = assert.rejects(
    late,
    refused("no healthy devices present; cannot allocate unhealthy devices example.com/gpu"),
  );
  node.clock.push(10_000);
  await checked;
});

test("a damaged checkpoint is named and set aside, and the agent goes on", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a")] });
  const pod = simplePod("p", 1);
  await admit(node, pod);
  await node.manager.close();
  const path = join(node.directory, "kubelet_internal_checkpoint");
  const damaged = readFileSync(path, "utf8").replace("main", "niam");
  writeFileSync(path, damaged);
  await node.restart();
  assert.match(
    String(node.lines.at(-1)?.fields["err"]),
    new RegExp(`${path} is damaged: its checksum is wrong`),
  );
  assert.equal(readFileSync(`${path}.damaged`, "utf8"), damaged);
  await node.plugin({ devices: [device("a")] });
  // The pod's containers still run: they get devices as new ones would.
  assert.deepEqual((await start(node, pod)).env, [["DEVICES", "a"]]);
});

test("devices of pods that ended while no agent ran are free again, those of others are not", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a"), device("b")] });
  await admit(node, simplePod("p", 1));
  await admit(node, simplePod("q", 1));
  await assert.rejects(admit(node, simplePod("r", 1)), /Available: 0/);
  node.active.delete("p");
  await admit(node, simplePod("s", 1));
  assert.equal(ids(node, simplePod("s", 1)), "a");
  await assert.rejects(admit(node, simplePod("t", 1)), /Available: 0/);
});
