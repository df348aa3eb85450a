import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { createAuthority, createSigningKey, issueCertificate } from "../index.ts";
import { withKeyForm } from "./pki.ts";

const now = Date.parse("2026-01-02T03:04:05Z");

test("an issued certificate names its user and hosts, and is signed by its own authority only", async () => {
  const authority = await createAuthority("one", now);
  const issued = await issueCertificate(
    authority,
    {
      commonName: "system:node:n1",
      organizations: ["system:nodes"],
      dnsNames: ["n1", "localhost"],
      ipAddresses: ["127.0.0.1", "fd00::12:1"],
      usages: ["client", "server"],
      validity: 30,
    },
    now,
  );
  const certificate = new X509Certificate(issued.certificate);
  const issuer = new X509Certificate(authority.certificate);
  assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:n1");
  assert.ok(certificate.checkIssued(issuer));
  assert.ok(certificate.verify(issuer.publicKey));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(issued.key)));
  assert.equal(certificate.ca, false);
  assert.equal(issuer.ca, true);
  assert.equal(certificate.checkHost("n1"), "n1");
  assert.equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
  assert.match(certificate.subjectAltName ?? "", /IP Address:FD00:0:0:0:0:0:12:1/);
  assert.equal(certificate.validToDate.getTime(), now + 30 * 24 * 60 * 60 * 1000);
  const other = new X509Certificate((await createAuthority("one", now)).certificate);
  assert.equal(certificate.verify(other.publicKey), false);
});

test("an invalid address is rejected", async () => {
  const authority = await createAuthority("one", now);
  const issue = issueCertificate(
    authority,
    { commonName: "x", ipAddresses: ["host"], usages: ["server"] },
    now,
  );
  await assert.rejects(issue, /"host" is not an IP address: ParseAddr\("host"\): unable to parse IP/);
});

test("an IPv4 address has four bytes in a certificate, in either notation", async () => {
  const authority = await createAuthority("one", now);
  const issue = (...ipAddresses: string[]) =>
    issueCertificate(authority, { commonName: "x", ipAddresses, usages: ["server"] }, now);
  const certificate = new X509Certificate(
    (await issue("::ffff:10.1.2.3", "::ffff:0a01:0204", "::", "::1.2.3.4", "2001:db8::")).certificate,
  );
  assert.equal(
    certificate.subjectAltName,
    [
      "IP Address:10.1.2.3",
      "IP Address:10.1.2.4",
      "IP Address:0:0:0:0:0:0:0:0",
      "IP Address:0:0:0:0:0:0:102:304",
      "IP Address:2001:DB8:0:0:0:0:0:0",
    ].join(", "),
  );
  assert.equal(certificate.checkIP("10.1.2.3"), "10.1.2.3");
  await assert.rejects(issue("fe80::1%eth0"), /has a zone, which no certificate can name: leave out %eth0/);
});

test("the signing key is a P-256 key", async () => {
  assert.equal(createPrivateKey(await createSigningKey()).asymmetricKeyDetails?.namedCurve, "prime256v1");
});

test("keys are in the form of client-go, former ones are brought into it", async () => {
  const made = await createAuthority("test-ca", Date.now());
  assert.match(made.key, /^-----BEGIN EC PRIVATE KEY-----\n/);
  const key = createPrivateKey(made.key).export({ type: "pkcs8", format: "pem" }) as string;
  assert.deepEqual(withKeyForm({ ...made, key }), made);
});
