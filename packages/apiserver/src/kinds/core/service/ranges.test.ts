import assert from "node:assert/strict";
import { test } from "node:test";
import { addressNumber, addressText, chooseFree, parseRange } from "./ranges.ts";

test("addresses and numbers convert both ways", () => {
  for (const address of ["0.0.0.1", "10.96.255.254", "::", "fd00:10:96::1", "1:2:3:4:5:6:7:8"]) {
    const family = address.includes(":") ? "IPv6" : "IPv4";
    assert.equal(addressText(addressNumber(address)!, family), address);
  }
  for (const wrong of ["", "10.0.0", "10.0.0.256", "fe80::1%eth0", "x"])
    assert.equal(addressNumber(wrong), undefined);
});

test("a range leaves out the network's address and the broadcast address of IPv4", () => {
  const range = parseRange("10.0.0.77/24");
  assert.deepEqual(range, {
    text: "10.0.0.0/24",
    family: "IPv4",
    first: 0x0a_00_00_01n,
    last: 0x0a_00_00_fen,
    reserved: 16n,
  });
  assert.equal(parseRange("10.0.0.0/28")?.reserved, 0n);
  assert.equal(parseRange("10.0.0.0/16")?.reserved, 256n);
  assert.equal(parseRange("fd00::/112")?.last, addressNumber("fd00::ffff"));
  for (const wrong of ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "a/8"])
    assert.equal(parseRange(wrong), undefined);
});

test("allocates reserved numbers last", () => {
  const range = { first: 1n, last: 10n, reserved: 3n };
  const taken = new Set<bigint>();
  const order: bigint[] = [];
  for (;;) {
    const next = chooseFree(
      range,
      (number) => taken.has(number),
      () => 0.5,
    );
    if (next === undefined) break;
    taken.add(next);
    order.push(next);
  }
  assert.deepEqual(order, [7n, 8n, 9n, 10n, 4n, 5n, 6n, 2n, 3n, 1n]);
});
