import assert from "node:assert/strict";
import { test } from "node:test";
import { diskNames, parseInterfaces } from "./machine-figures.ts";

test("interfaces but for the loopback one", () => {
  const text = [
    "Inter-|   Receive                                                |  Transmit",
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed",
    "    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0",
    "  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0",
    "eth1:5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0",
    "",
  ].join("\n");
  const [first, second, ...more] = parseInterfaces(text);
  assert.deepEqual(first, {
    name: "eth0",
    ...{ receivedBytes: 1000, receivedPackets: 10, receiveErrors: 1, receivedDropped: 2 },
    ...{ sentBytes: 2000, sentPackets: 20, sendErrors: 3, sentDropped: 4 },
  });
  assert.deepEqual([second?.name, second?.receivedBytes, second?.sentBytes, more], ["eth1", 5, 6, []]);
});

test("disks by their numbers", () => {
  const names = diskNames("   8       0 sda 1 2 3\n 254       1 vda1 4 5 6\n");
  assert.deepEqual(
    [...names],
    [
      ["8:0", "/dev/sda"],
      ["254:1", "/dev/vda1"],
    ],
  );
});
