import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { publicHostName } from "./host-name.ts";

const problem = (localAddress: string | undefined, host: string | undefined): string | undefined =>
  publicHostName({ headers: { host }, socket: { localAddress } });

test("refuses public names on loopback addresses: a page of another site may ask under them", () => {
  for (const address of ["127.0.0.1", "127.152.112.1", "::1", "::ffff:127.0.0.1"]) {
    for (const host of [
      "evil.example",
      "evil.example.:80",
      "EVIL.Example:8080",
      "127.0.0.1.evil.com",
      "localhost.evil.com",
    ])
      assert.match(problem(address, host) ?? "", /is not one of this machine: use localhost/, host);
    for (const host of [
      undefined,
      "",
      "localhost:80",
      "a.localhost",
      "127.0.0.1:8080",
      "[::1]:80",
      "[::ffff:127.0.0.1]",
      "node-1",
      "web.default.svc:80",
      "web.default.svc.cluster.local.:80",
      "host.docker.internal",
      hostname(),
    ])
      assert.equal(problem(address, host), undefined, host);
  }
});

test("other addresses have names of any kind", () => {
  for (const address of ["10.0.0.1", "::ffff:10.0.0.1", "fd00::1", undefined])
    assert.equal(problem(address, "node.example.com"), undefined);
});
