import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeHosts } from "./node-hosts.ts";

test("the hosts of a node are the machine's without its loopback addresses, and the node itself", () => {
  const machine =
    "# x\n127.0.0.1 localhost\n127.0.1.1 laptop\n::1 ip6-localhost\nff02::1 ip6-allnodes\n10.0.0.7 nas\n";
  assert.equal(
    nodeHosts({ nodeName: "worker-1", address: "10.200.1.1" }, machine),
    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n10.0.0.7 nas\n10.200.1.1\tworker-1\n",
  );
});
