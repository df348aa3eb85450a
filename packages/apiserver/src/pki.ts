/**
 * Keys and certificates: a cluster's own authority, the certificates that it issues, and the key that signs
 * service-account tokens. node:crypto makes the keys and signs; a certificate is a handful of DER values around
 * that, so that starting a cluster need not load a certificate library.
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { quoted } from "@dray/api";
import { addressBytes, parseAddress } from "@dray/api/ip";
import {
  bits,
  boolean,
  children,
  integer,
  objectId,
  octets,
  sequence,
  set,
  tagged,
  time,
  utf8,
} from "./der.ts";

/** A certificate and its private key, both PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** The user's name for a client certificate. */
  readonly commonName: string;
  /** The user's groups for a client certificate. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usages: readonly ("client" | "server")[];
  /** Days from now; one year if absent. */
  readonly validity?: number;
}

const dayMilliseconds = 24 * 60 * 60 * 1000;
/** Certificates are valid from a little earlier on, for machines whose clocks differ. */
const slack = 60 * 60 * 1000;

/** Makes a certificate authority that is valid for ten years. `now` is in milliseconds since the epoch. */
export async function createAuthority(name: string, now: number): Promise<Certificate> {
  const key = newKey();
  const subject = distinguishedName({ commonName: name });
  const usage = bits(Buffer.from([0b1000_0110]), 1); // digitalSignature, keyCertSign, cRLSign
  return build(subject, subject, now, 3650, key, key, [
    extension("2.5.29.19", true, sequence(boolean(true))),
    extension("2.5.29.15", true, usage),
    subjectKeyId(key),
  ]);
}

/**
 * Issues a certificate (ECDSA P-256) that `authority` has signed. `now` is in milliseconds since the epoch. Throws a
 * TypeError for an address that is none.
 */
export async function issueCertificate(
  authority: Certificate,
  options: CertificateOptions,
  now: number,
): Promise<Certificate> {
  const key = newKey();
  const issuerKey = createPrivateKey(authority.key);
  const names = [
    ...(options.dnsNames ?? []).map((name) => tagged(0x82, Buffer.from(name, "ascii"))),
    ...(options.ipAddresses ?? []).map((address) => tagged(0x87, sanBytes(address))),
  ];
  const usages = options.usages.map((usage) => objectId(extendedUsages[usage]));
  return build(
    issuerName(authority.certificate),
    distinguishedName(options),
    now,
    options.validity ?? 365,
    key,
    issuerKey,
    [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.15", true, bits(Buffer.from([0b1010_0000]), 5)), // digitalSignature, keyEncipherment
      extension("2.5.29.37", false, sequence(...usages)),
      extension("2.5.29.35", false, sequence(tagged(0x80, keyId(issuerKey)))),
      subjectKeyId(key),
      ...(names.length === 0 ? [] : [extension("2.5.29.17", false, sequence(...names))]),
    ],
  );
}

/** A new private key (PEM, P-256) that signs service-account tokens. */
export async function createSigningKey(): Promise<string> {
  return keyPem(newKey());
}

const extendedUsages = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;
const ecdsaWithSha256 = sequence(objectId("1.2.840.10045.4.3.2"));

function newKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

function keyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}

function publicKeyDer(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

function keyId(key: KeyObject): Buffer {
  return createHash("sha1").update(publicKeyDer(key)).digest();
}

function subjectKeyId(key: KeyObject): Buffer {
  return extension("2.5.29.14", false, octets(keyId(key)));
}

function extension(id: string, critical: boolean, value: Uint8Array): Buffer {
  return sequence(objectId(id), ...(critical ? [boolean(true)] : []), octets(value));
}

function distinguishedName(name: { commonName: string; organizations?: readonly string[] }): Buffer {
  const attribute = (id: string, value: string): Buffer => set(sequence(objectId(id), utf8(value)));
  return sequence(
    ...(name.organizations ?? []).map((organization) => attribute("2.5.4.10", organization)),
    attribute("2.5.4.3", name.commonName),
  );
}

/** The subject of the authority's certificate, byte for byte: what its certificates name as their issuer. */
function issuerName(certificate: string): Buffer {
  const der = new X509Certificate(certificate).raw;
  const fields = children(children(der)[0]!);
  // version [0], serialNumber, signature, issuer, validity, subject
  const first = fields[0]![0] === 0xa0 ? 1 : 0;
  return fields[first + 4]!;
}

/** Four bytes for an IPv4 address, however it is written, as Go's crypto/x509 has it. */
function sanBytes(text: string): Uint8Array {
  const address = parseAddress(text);
  if (typeof address === "string") throw new TypeError(`${quoted(text)} is not an IP address: ${address}`);
  if (address.zone !== "")
    throw new TypeError(
      `${quoted(text)} has a zone, which no certificate can name: leave out %${address.zone}`,
    );
  return addressBytes(address);
}

function build(
  issuer: Buffer,
  subject: Buffer,
  now: number,
  days: number,
  key: KeyObject,
  issuerKey: KeyObject,
  extensions: readonly Buffer[],
): Certificate {
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    issuer,
    sequence(time(now - slack), time(now + days * dayMilliseconds)),
    subject,
    publicKeyDer(key),
    tagged(0xa3, sequence(...extensions)),
  );
  const signed = sequence(body, ecdsaWithSha256, bits(sign("sha256", body, issuerKey)));
  const lines = signed.toString("base64").match(/.{1,64}/g)!;
  return {
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    key: keyPem(key),
  };
}
