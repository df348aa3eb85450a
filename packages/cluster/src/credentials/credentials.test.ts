import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { ensureCredentials, type Layout, layoutOf } from "../index.ts";

const day = 24 * 60 * 60 * 1000;

function scratch(t: TestContext): Layout {
  const folder = temporaryFolder(t);
  return layoutOf(folder);
}

test("the serving certificate is issued anew when the addresses change, and only then", async (t) => {
  const layout = scratch(t);
  const now = Date.now();
  const one = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1", "2001:db8::1"] };
  const first = await ensureCredentials(layout, ["n"], now, { addresses: one });
  const again = await ensureCredentials(layout, ["n"], now, {
    addresses: { dnsNames: ["localhost"], ipAddresses: ["2001:DB8:0::1", "127.0.0.1"] },
  });
  assert.deepEqual(again, first);
  const two = { dnsNames: ["localhost", "box"], ipAddresses: ["127.0.0.1", "10.9.8.7"] };
  const moved = await ensureCredentials(layout, ["n"], now, { addresses: two });
  const certificate = new X509Certificate(moved.server.certificate);
  assert.equal(
    certificate.subjectAltName,
    "DNS:localhost, DNS:box, IP Address:127.0.0.1, IP Address:10.9.8.7",
  );
  assert.ok(certificate.verify(new X509Certificate(first.authority.certificate).publicKey));
  assert.deepEqual({ ...moved, server: null }, { ...first, server: null });
  assert.deepEqual(await ensureCredentials(layout, ["n"], now, { addresses: two }), moved);
});

test("certificates that end within a month, or whose key is another's, are issued anew; the authority stays", async (t) => {
  const layout = scratch(t);
  const now = Date.now();
  const first = await ensureCredentials(layout, ["n"], now);
  assert.deepEqual(await ensureCredentials(layout, ["n"], now + 300 * day), first);
  const later = await ensureCredentials(layout, ["n"], now + 340 * day);
  assert.equal(later.authority.certificate, first.authority.certificate);
  assert.equal(later.serviceAccountKey, first.serviceAccountKey);
  const pairs = [
    [later.server, first.server],
    [later.admin, first.admin],
    [later.kubeletClient, first.kubeletClient],
    [later.frontProxyClient, first.frontProxyClient],
    [later.nodes.get("n")!.client, first.nodes.get("n")!.client],
    [later.nodes.get("n")!.server, first.nodes.get("n")!.server],
  ] as const;
  for (const [now, before] of pairs) assert.notEqual(now.certificate, before.certificate);

  // A crash between the two files of a pair.
  writeFileSync(join(layout.pki, "admin.key"), first.admin.key);
  const mended = await ensureCredentials(layout, ["n"], now + 340 * day);
  assert.notEqual(mended.admin.certificate, later.admin.certificate);
  assert.equal(readFileSync(join(layout.pki, "admin.key"), "utf8"), mended.admin.key);
  writeFileSync(join(layout.pki, "server.crt"), "");
  assert.notEqual((await ensureCredentials(layout, ["n"], now)).server.certificate, "");
});

test("certificates that are not valid yet are issued anew, those of an authority with its key, and it is said", async (t) => {
  const layout = scratch(t);
  const now = Date.parse("2026-07-01T12:00:00Z");
  const future = await ensureCredentials(layout, ["n"], now + 400 * day);
  const said: string[] = [];
  const present = await ensureCredentials(layout, ["n"], now, { onRenewed: (text) => said.push(text) });
  const authority = new X509Certificate(present.authority.certificate);
  assert.ok(authority.validFromDate.getTime() < now);
  assert.equal(present.authority.key, future.authority.key);
  const node = present.nodes.get("n")!;
  const pairs = [present.server, present.admin, present.kubeletClient, node.client, node.server];
  for (const { certificate } of pairs) {
    const issued = new X509Certificate(certificate);
    assert.ok(issued.validFromDate.getTime() < now);
    // The former authority, which kubeconfigs and pods hold, has issued it as well.
    for (const one of [authority, new X509Certificate(future.authority.certificate)])
      assert.ok(issued.checkIssued(one) && issued.verify(one.publicKey));
  }
  assert.equal(present.serviceAccountKey, future.serviceAccountKey);
  assert.equal(said.length, 1);
  assert.ok(
    said[0]!.startsWith(`certificates in ${layout.pki} were issued anew: ca, server, admin, `),
    said[0],
  );
  assert.match(
    said[0]!,
    /\(not valid before 2027-08-05T11:00:00Z; the clock of this machine says 2026-07-01T12:00:00Z\)$/,
  );
  assert.deepEqual(await ensureCredentials(layout, ["n"], now), present);
  // Set back by less than the hour that certificates begin before they are issued.
  assert.deepEqual(await ensureCredentials(layout, ["n"], now - day / 48), present);
});

test("an authority is renewed, with its key, before what it issues could outlive it", async (t) => {
  const layout = scratch(t);
  const now = Date.now();
  const first = await ensureCredentials(layout, [], now);
  const later = now + 3_300 * day;
  const renewed = await ensureCredentials(layout, [], later);
  assert.notEqual(renewed.authority.certificate, first.authority.certificate);
  assert.equal(renewed.authority.key, first.authority.key);
  const until = (certificate: string): number => new X509Certificate(certificate).validToDate.getTime();
  assert.ok(until(renewed.authority.certificate) > until(renewed.server.certificate));
  assert.equal(renewed.frontProxyAuthority.key, first.frontProxyAuthority.key);
});

test("the serving certificate of a node names its own address, and is issued anew when that changes", async (t) => {
  const layout = scratch(t);
  const of = async (nodes: ReadonlyMap<string, string>): Promise<string> => {
    const { nodes: made } = await ensureCredentials(layout, ["n"], Date.now(), { nodeAddresses: nodes });
    return new X509Certificate(made.get("n")!.server.certificate).subjectAltName ?? "";
  };
  const machine = "DNS:n, DNS:localhost, IP Address:127.0.0.1";
  assert.equal(await of(new Map()), machine);
  assert.equal(await of(new Map([["n", "10.200.1.1"]])), `${machine}, IP Address:10.200.1.1`);
  assert.equal(await of(new Map([["n", "10.201.1.1"]])), `${machine}, IP Address:10.201.1.1`);
});

test("front proxies have an authority of their own, which stays", async (t) => {
  const layout = scratch(t);
  const now = Date.now();
  const { authority, frontProxyAuthority, frontProxyClient } = await ensureCredentials(layout, [], now);
  const client = new X509Certificate(frontProxyClient.certificate);
  assert.equal(client.subject, "CN=front-proxy-client");
  assert.ok(client.verify(new X509Certificate(frontProxyAuthority.certificate).publicKey));
  assert.ok(!client.verify(new X509Certificate(authority.certificate).publicKey));
  const later = await ensureCredentials(layout, [], now + 340 * day);
  assert.equal(later.frontProxyAuthority.certificate, frontProxyAuthority.certificate);
});

test("a damaged key of service accounts is named, and a new one is made only where none is", async (t) => {
  const layout = scratch(t);
  await ensureCredentials(layout, ["n"], Date.now());
  const path = join(layout.dataDir, "pki", "service-account.key");
  for (const damaged of ["", "garbage\n"]) {
    writeFileSync(path, damaged);
    await assert.rejects(ensureCredentials(layout, ["n"], Date.now()), (error: Error) =>
      error.message.startsWith(`${path} holds no private key: restore it from a copy, or delete it`),
    );
    assert.equal(readFileSync(path, "utf8"), damaged);
  }
  rmSync(path);
  await ensureCredentials(layout, ["n"], Date.now());
  assert.match(readFileSync(path, "utf8"), /PRIVATE KEY/);
});
