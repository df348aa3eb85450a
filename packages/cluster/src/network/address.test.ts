import assert from "node:assert/strict";
import { test } from "node:test";
import { plainAddress, serverAddresses } from "./address.ts";

const machine = (): string[] => ["2001:db8::5", "192.0.2.5"];
const hostname = (): string => "Box.example.com";
const reach = (bind: string, advertise?: string) =>
  serverAddresses({ bind, advertise, machine, hostname, also: ["10.0.0.1"] });
const services = [
  "localhost",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
];

test("a server on all addresses is reached here at the loopback one, by others at one of the machine's", () => {
  for (const bind of ["0.0.0.0", "::", "::ffff:0.0.0.0", "0:0::0"])
    assert.deepEqual(reach(bind), {
      local: "127.0.0.1",
      advertised: "192.0.2.5",
      ipAddresses: ["127.0.0.1", "::1", "10.0.0.1", "2001:db8::5", "192.0.2.5"],
      dnsNames: [...services, "box.example.com", "box"],
    });
  const translated = reach("0.0.0.0", "::ffff:203.0.113.9");
  assert.equal(translated.advertised, "203.0.113.9");
  assert.ok(translated.ipAddresses.includes("203.0.113.9"));
  const alone = serverAddresses({ bind: "::", machine: () => [], hostname: () => "under_score" });
  assert.equal(alone.advertised, "127.0.0.1");
  assert.deepEqual(alone.dnsNames, services);
});

test("a server on one address is reached there by everybody", () => {
  assert.deepEqual(reach("127.0.0.1"), {
    local: "127.0.0.1",
    advertised: "127.0.0.1",
    ipAddresses: ["127.0.0.1", "::1", "10.0.0.1"],
    dnsNames: services,
  });
  assert.deepEqual(reach("::1").advertised, "::1");
  const concrete = reach("192.0.2.5");
  assert.deepEqual([concrete.local, concrete.advertised], ["192.0.2.5", "192.0.2.5"]);
  assert.deepEqual(concrete.ipAddresses, ["127.0.0.1", "::1", "192.0.2.5", "10.0.0.1"]);
  assert.ok(concrete.dnsNames.includes("box"));
  assert.equal(reach("127.0.0.1", "198.51.100.1").advertised, "198.51.100.1");
});

test("an address has one form", () => {
  for (const [text, plain] of [
    ["10.0.0.1", "10.0.0.1"],
    ["::FFFF:10.0.0.1", "10.0.0.1"],
    ["::ffff:a00:1", "10.0.0.1"],
    ["::ffff:255.255.255.255", "255.255.255.255"],
    ["2001:DB8:0::1", "2001:db8::1"],
    ["::ffff:0:0:1", "::ffff:0:0:1"],
  ] as const)
    assert.equal(plainAddress(text), plain);
  for (const text of ["", "localhost", "1.2.3", "fe80::1%eth0", "::1/64"])
    assert.throws(() => plainAddress(text), /is not an IP address/, text);
});
