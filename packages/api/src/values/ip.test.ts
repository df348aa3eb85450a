import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  addressFamily,
  addressRule,
  addressWarnings,
  checkLegacyAddress,
  checkLegacyNetwork,
  interfaceAddressRule,
  networkRule,
  networkWarnings,
  strictlyWithin,
} from "../checks/address.ts";
import { FieldErrors } from "../checks/field.ts";
import {
  addressBytes,
  addressText,
  containsAddress,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  masked,
  type Network,
  networkText,
  parseAddress,
  parseNetwork,
  parseSloppyAddress,
  unmapped,
} from "./ip.ts";

/** Results of Go and Kubernetes for a text: net/netip, k8s.io/utils/net, k8s.io/apimachinery. */
interface Recorded {
  readonly text: string;
  readonly addr?: string;
  readonly addrErr?: string;
  readonly unmapped?: string;
  readonly pref?: string;
  readonly prefErr?: string;
  readonly masked?: string;
  readonly sloppy?: string;
  readonly bytes?: string;
  readonly kinds?: string;
  readonly validIP: readonly string[];
  readonly validCIDR: readonly string[];
  readonly validIface: readonly string[];
  readonly legacyIP: readonly string[];
  readonly looseIP: readonly string[];
  readonly legacyCIDR: readonly string[];
  readonly looseCIDR: readonly string[];
  readonly warn: readonly string[];
}

const recorded = readFileSync(new URL("testdata/addresses.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);

const details = (check: typeof checkLegacyAddress, text: string, version: "1.35" | "1.36") => {
  const errors = new FieldErrors({ release: "1.36" });
  check(errors.at("p"), text, { version });
  return errors.list.map(({ detail }) => detail);
};

test("addresses and networks are read and written as Go does it, errors included", () => {
  for (const each of recorded) {
    const address = parseAddress(each.text);
    if (typeof address === "string") assert.equal(address, each.addrErr);
    else
      assert.deepEqual(
        [addressText(address), addressText(unmapped(address))],
        [each.addr, each.unmapped],
        each.text,
      );
    const network = parseNetwork(each.text);
    if (typeof network === "string") assert.equal(network, each.prefErr);
    else
      assert.deepEqual(
        [networkText(network), networkText(masked(network))],
        [each.pref, each.masked],
        each.text,
      );
  }
});

test("old fields are read as k8s.io/utils/net does it", () => {
  for (const { text, sloppy, bytes, kinds } of recorded) {
    const address = parseSloppyAddress(text);
    if (address === undefined) {
      assert.equal(sloppy, undefined, text);
      continue;
    }
    const plain = unmapped(address);
    assert.equal(addressText(plain), sloppy, text);
    assert.equal(Buffer.from(addressBytes(address)).toString("hex"), bytes, text);
    const tests = [isUnspecified, isLoopback, isLinkLocalUnicast, isLinkLocalMulticast];
    assert.equal([...tests.map((is) => is(plain)), addressFamily(text) === "IPv6"].join(" "), kinds, text);
  }
});

test("values of fields are checked and warned of as apimachinery does it", () => {
  for (const each of recorded) {
    const { text } = each;
    assert.deepEqual(addressRule(text), each.validIP, text);
    assert.deepEqual(networkRule(text), each.validCIDR, text);
    assert.deepEqual(interfaceAddressRule(text), each.validIface, text);
    assert.deepEqual(details(checkLegacyAddress, text, "1.36"), each.legacyIP, text);
    assert.deepEqual(details(checkLegacyAddress, text, "1.35"), each.looseIP, text);
    assert.deepEqual(details(checkLegacyNetwork, text, "1.36"), each.legacyCIDR, text);
    assert.deepEqual(details(checkLegacyNetwork, text, "1.35"), each.looseCIDR, text);
    assert.deepEqual([...addressWarnings("p", text), ...networkWarnings("p", text)], each.warn, text);
  }
});

test("a network contains addresses of its own family only", () => {
  const within = (network: string, address: string): boolean =>
    containsAddress(parseNetwork(network) as Network, parseSloppyAddress(address)!);
  assert.equal(within("10.0.0.0/8", "10.255.0.1"), true);
  assert.equal(within("10.0.0.0/8", "11.0.0.1"), false);
  assert.equal(within("::/0", "10.0.0.1"), false);
  assert.equal(within("0.0.0.0/0", "255.255.255.255"), true);
});

test("an exception lies strictly within its network", () => {
  const table: [inner: string, outer: string, within: boolean | undefined][] = [
    ["10.1.0.0/16", "10.0.0.0/8", true],
    ["10.0.0.0/8", "10.0.0.0/8", false],
    ["11.0.0.0/16", "10.0.0.0/8", false],
    ["2001:db8:1::/48", "2001:db8::/32", true],
    ["10.0.0.0/8", "::/0", false],
    ["::ffff:10.1.0.0/112", "10.0.0.0/8", true],
    ["10.1.0.0", "10.0.0.0/8", undefined],
  ];
  for (const [inner, outer, within] of table) assert.equal(strictlyWithin(outer)(inner), within, inner);
});
