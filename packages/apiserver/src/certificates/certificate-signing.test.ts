import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { test } from "node:test";
import {
  createAuthority,
  createCertificateRequest,
  parseCertificateRequest,
  signCertificateRequest,
} from "../index.ts";
import { signatureProblem } from "./certificate-request.ts";
import { children, sequence } from "./der.ts";

const now = Date.parse("2026-01-02T03:04:05Z");
const day = 24 * 60 * 60_000;
const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
const names = {
  commonName: "system:node:n1",
  organizations: ["system:nodes"],
  dnsNames: ["n1"],
  ipAddresses: ["10.0.0.1", "fd00::1"],
};

test("a request is parsed with its names, and signed for its key, subject, names and usages", async () => {
  const authority = await createAuthority("ca", now);
  const { request, key } = createCertificateRequest(names);
  const parsed = parseCertificateRequest(base64(request));
  assert.ok(!("error" in parsed));
  assert.deepEqual(
    parsed.alternativeNames.map(({ type, text }) => [type, text]),
    [
      ["dns", "n1"],
      ["ip", "10.0.0.1"],
      ["ip", "fd00::1"],
    ],
  );
  const certificate = new X509Certificate(
    signCertificateRequest(authority, base64(request), {
      usages: ["digital signature", "key encipherment", "server auth"],
      duration: 30 * day,
      now,
    }),
  );
  const issuer = new X509Certificate(authority.certificate);
  assert.ok(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey));
  assert.ok(certificate.checkPrivateKey(createPrivateKey(key)));
  assert.equal(certificate.subject, "O=system:nodes\nCN=system:node:n1");
  assert.equal(certificate.subjectAltName, "DNS:n1, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1");
  assert.deepEqual(certificate.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  assert.equal(certificate.ca, false);
  assert.equal(certificate.validFromDate.getTime(), now - 5 * 60_000);
  assert.equal(certificate.validToDate.getTime(), now + 30 * day - 5 * 60_000);
});

test("a certificate never outlives its authority, and an expired authority signs nothing", async () => {
  const authority = await createAuthority("ca", now);
  const request = base64(createCertificateRequest(names).request);
  const sign = (at: number): string =>
    signCertificateRequest(authority, request, { usages: ["client auth"], duration: 365 * day, now: at });
  const end = new X509Certificate(authority.certificate).validToDate.getTime();
  assert.equal(new X509Certificate(sign(end - day)).validToDate.getTime(), end);
  assert.throws(() => sign(end), /the signer has expired/);
});

test("other kinds of keys can sign", async () => {
  const { certificate } = await createAuthority("ca", now);
  const request = base64(createCertificateRequest(names).request);
  for (const { privateKey, publicKey } of [
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
    generateKeyPairSync("ec", { namedCurve: "P-384" }),
    generateKeyPairSync("ed25519"),
  ]) {
    const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    const options = { usages: ["client auth"], duration: day, now };
    const signed = new X509Certificate(signCertificateRequest({ certificate, key }, request, options));
    assert.ok(signed.verify(publicKey), privateKey.asymmetricKeyType);
  }
});

test("malformed requests, requests signed with another key, and unknown usages are rejected", async () => {
  const authority = await createAuthority("ca", now);
  const sign = (request: string, usage = "client auth"): string =>
    signCertificateRequest(authority, base64(request), { usages: [usage], duration: day, now });
  const { request } = createCertificateRequest(names);
  assert.throws(() => sign("no PEM"), /PEM block type must be CERTIFICATE REQUEST/);
  assert.throws(() => sign(request, "fly"), /unrecognized usage values: \["fly"\]/);
  const lines = request.split("\n");
  const bytes = Buffer.from(lines.slice(1, -2).join(""), "base64");
  bytes[bytes.length - 5]! ^= 1;
  const forged = [lines[0], bytes.toString("base64"), ...lines.slice(-2)].join("\n");
  assert.throws(() => sign(forged), /signature does not match the key of the request/);
});

test("a request without an algorithm or a signature cannot be read", async () => {
  const { request } = createCertificateRequest(names);
  const [, body = ""] = /-----\n([^-]*)-----/.exec(request) ?? [];
  const parts = children(Buffer.from(body, "base64"));
  assert.equal(parts.length, 3);
  for (const kept of [0, 1, 2]) {
    const der = sequence(...parts.slice(0, kept));
    const label = "CERTIFICATE REQUEST";
    const pem = `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;
    const error = "asn1: structure error: the request cannot be read";
    assert.deepEqual(parseCertificateRequest(base64(pem)), { error });
    assert.equal(signatureProblem(base64(pem)), error);
  }
});
