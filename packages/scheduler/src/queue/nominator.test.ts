import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { Nominator } from "./nominator.ts";

const podOf = (uid: string): Pod => partial<Pod>({ metadata: { uid, name: uid, namespace: "d" }, spec: {} });

test("a pod is nominated to one node, and each node that gains or loses one is reported", () => {
  const changed: string[] = [];
  const nominator = new Nominator((node) => changed.push(node));
  const names = (node: string): string[] => nominator.on(node).map(({ metadata }) => metadata.name);
  nominator.set(podOf("a"), "n1");
  nominator.set(podOf("b"), "n1");
  assert.deepEqual([names("n1"), nominator.nodeOf("a")], [["a", "b"], "n1"]);
  const newer = podOf("a");
  nominator.set(newer, "n1");
  assert.deepEqual(changed, ["n1", "n1"]);
  assert.ok(nominator.on("n1").includes(newer));
  nominator.set(podOf("a"), "n2");
  assert.deepEqual([names("n1"), names("n2"), changed], [["b"], ["a"], ["n1", "n1", "n1", "n2"]]);
  nominator.set(podOf("a"), "");
  nominator.delete("b");
  nominator.delete("b");
  assert.deepEqual([names("n1"), names("n2"), changed.slice(4)], [[], [], ["n2", "n1"]]);
});
