/**
 * Keys and certificates: a cluster's own authority, the certificates that it issues, and the key that signs
 * service-account tokens. node:crypto generates the keys and signs; the certificate itself takes only a few
 * DER values, so that starting a cluster need not load a certificate library.
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from "node:crypto";
import { bits, boolean, integer, objectId, octets, sequence, set, tagged } from "./der.ts";
import {
  alternativeNames,
  assembleCertificate,
  distinguishedName,
  extension,
  extensionRequestId,
  pem,
  signatureOf,
  subjectOf,
} from "./x509.ts";

/** A certificate and its private key, both PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** The user's name in a client certificate. */
  readonly commonName: string;
  /** The user's groups in a client certificate. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly usages: readonly ("client" | "server")[];
  /** Days from now; one year if absent. */
  readonly validity?: number;
}

const dayMilliseconds = 24 * 60 * 60 * 1000;
/** Backdates certificates, for clock skew. */
const clockSkew = 60 * 60 * 1000;

/**
 * Creates a certificate authority that is valid for ten years. `now` is in milliseconds since the epoch.
 * `formerKey` (PEM) renews one: certificates that it has issued are those of the new one, too.
 */
export async function createAuthority(name: string, now: number, formerKey?: string): Promise<Certificate> {
  const key = formerKey === undefined ? newKey() : createPrivateKey(formerKey);
  const subject = distinguishedName({ commonName: name });
  const usage = bits(Buffer.from([0b1000_0110]), 1); // digitalSignature, keyCertSign, cRLSign
  return build({
    issuer: subject,
    subject,
    now,
    days: 3650,
    key,
    issuerKey: key,
    extensions: [
      extension("2.5.29.19", true, sequence(boolean(true))),
      extension("2.5.29.15", true, usage),
      subjectKeyId(key),
    ],
  });
}

/**
 * Issues a certificate (ECDSA P-256) that `authority` has signed. `now` is in milliseconds since the epoch.
 * Throws a TypeError if the address is invalid.
 */
export async function issueCertificate(
  authority: Certificate,
  options: CertificateOptions,
  now: number,
): Promise<Certificate> {
  const key = newKey();
  const issuerKey = createPrivateKey(authority.key);
  const names = alternativeNames(options);
  const usages = options.usages.map((usage) => objectId(extendedUsages[usage]));
  return build({
    issuer: subjectOf(authority.certificate),
    subject: distinguishedName(options),
    now,
    days: options.validity ?? 365,
    key,
    issuerKey,
    extensions: [
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.15", true, bits(Buffer.from([0b1010_0000]), 5)), // digitalSignature, keyEncipherment
      extension("2.5.29.37", false, sequence(...usages)),
      extension("2.5.29.35", false, sequence(tagged(0x80, keyId(issuerKey)))),
      subjectKeyId(key),
      ...(names.length === 0 ? [] : [extension("2.5.29.17", false, sequence(...names))]),
    ],
  });
}

/** Subject and names of a certificate signing request. */
export type RequestOptions = Pick<
  CertificateOptions,
  "commonName" | "organizations" | "dnsNames" | "ipAddresses"
>;

/** Generates a key (P-256) and a PKCS#10 request for its certificate, both PEM. */
export function createCertificateRequest(options: RequestOptions): {
  readonly request: string;
  readonly key: string;
} {
  const key = newKey();
  const names = alternativeNames(options);
  const extensions = sequence(extension("2.5.29.17", false, sequence(...names)));
  const info = sequence(
    integer(Buffer.from([0])),
    distinguishedName(options),
    publicKeyDer(key),
    tagged(0xa0, ...(names.length === 0 ? [] : [sequence(objectId(extensionRequestId), set(extensions))])),
  );
  const { algorithm, digest } = signatureOf(key);
  const der = sequence(info, algorithm, bits(sign(digest, info, key)));
  return { request: pem("CERTIFICATE REQUEST", der), key: keyPem(key) };
}

/** Returns a new private key (PEM, P-256) that signs service-account tokens. */
export async function createSigningKey(): Promise<string> {
  return keyPem(newKey());
}

const extendedUsages = { server: "1.3.6.1.5.5.7.3.1", client: "1.3.6.1.5.5.7.3.2" } as const;

function newKey(): KeyObject {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
}

/**
 * `EC PRIVATE KEY` (SEC1), which clients that read no other form of elliptic keys expect in kubeconfigs.
 * Upstream: client-go, util/keyutil/key.go, MakeEllipticPrivateKeyPEM
 */
function keyPem(key: KeyObject): string {
  const type = key.asymmetricKeyType === "ec" ? "sec1" : "pkcs8";
  return key.export({ type, format: "pem" }) as string;
}

/** Returns a private key (PEM) in the form of new ones. */
export const withKeyForm = ({ certificate, key }: Certificate): Certificate => ({
  certificate,
  key: keyPem(createPrivateKey(key)),
});

function publicKeyDer(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" });
}

function keyId(key: KeyObject): Buffer {
  return createHash("sha1").update(publicKeyDer(key)).digest();
}

function subjectKeyId(key: KeyObject): Buffer {
  return extension("2.5.29.14", false, octets(keyId(key)));
}

interface CertificateFields {
  /** Distinguished names, in DER. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly days: number;
  readonly key: KeyObject;
  readonly issuerKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

function build({ issuer, subject, now, days, key, issuerKey, extensions }: CertificateFields): Certificate {
  const certificate = assembleCertificate({
    issuer,
    subject,
    from: now - clockSkew,
    until: now + days * dayMilliseconds,
    publicKey: publicKeyDer(key),
    issuerKey,
    extensions,
  });
  return { certificate, key: keyPem(key) };
}
