/** Encodes X.509 certificates and PKCS#10 requests in DER. */
import { type KeyObject, randomBytes, sign, X509Certificate } from "node:crypto";
import { quoted } from "@dray/api";
import { addressBytes, parseAddress } from "@dray/api/ip";
import {
  bits,
  boolean,
  child,
  children,
  content,
  integer,
  objectId,
  objectIdText,
  octets,
  sequence,
  set,
  tagged,
  time,
  utf8,
} from "./der.ts";

/** Attribute of a request that asks for extensions (PKCS#9). */
export const extensionRequestId = "1.2.840.113549.1.9.14";

export interface CertificateParts {
  /** Distinguished names, DER. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
  readonly issuerKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

/** Signs a certificate and returns it as PEM. */
export function assembleCertificate(parts: CertificateParts): string {
  const { issuer, subject, from, until, publicKey, issuerKey, extensions } = parts;
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const { algorithm, digest } = signatureOf(issuerKey);
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    algorithm,
    issuer,
    sequence(time(from), time(until)),
    subject,
    publicKey,
    tagged(0xa3, sequence(...extensions)),
  );
  return pem("CERTIFICATE", sequence(body, algorithm, bits(sign(digest, body, issuerKey))));
}

export function pem(type: string, der: Buffer): string {
  const lines = der.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${type}-----\n${lines}\n-----END ${type}-----\n`;
}

/** Curves of ECDSA keys, with the algorithm that signs with them. */
const curves: Readonly<Record<string, readonly [id: string, digest: string] | undefined>> = {
  prime256v1: ["1.2.840.10045.4.3.2", "sha256"],
  secp384r1: ["1.2.840.10045.4.3.3", "sha384"],
  secp521r1: ["1.2.840.10045.4.3.4", "sha512"],
};
const emptyValue = tagged(0x05);

/**
 * Returns how a key signs, as Go's crypto/x509 chooses. Throws a TypeError for an unsupported kind of key.
 */
export function signatureOf(key: KeyObject): {
  readonly algorithm: Buffer;
  readonly digest: string | null;
} {
  const { asymmetricKeyType: type, asymmetricKeyDetails } = key;
  if (type === "rsa")
    return { algorithm: sequence(objectId("1.2.840.113549.1.1.11"), emptyValue), digest: "sha256" };
  if (type === "ed25519") return { algorithm: sequence(objectId("1.3.101.112")), digest: null };
  const curve = curves[asymmetricKeyDetails?.namedCurve ?? ""];
  if (type === "ec" && curve !== undefined)
    return { algorithm: sequence(objectId(curve[0])), digest: curve[1] };
  throw new TypeError(
    `the signing key is of type ${type}: an ECDSA (P-256, P-384, P-521), RSA or Ed25519 key is needed`,
  );
}

export function extension(id: string, critical: boolean, value: Uint8Array): Buffer {
  return sequence(objectId(id), ...(critical ? [boolean(true)] : []), octets(value));
}

export function distinguishedName(name: { commonName: string; organizations?: readonly string[] }): Buffer {
  const attribute = (id: string, value: string): Buffer => set(sequence(objectId(id), utf8(value)));
  return sequence(
    ...(name.organizations ?? []).map((organization) => attribute("2.5.4.10", organization)),
    attribute("2.5.4.3", name.commonName),
  );
}

/** Returns the subject of an authority's certificate, byte for byte: the issuer of its certificates. */
export function subjectOf(certificate: string): Buffer {
  const der = new X509Certificate(certificate).raw;
  const fields = children(child(der, 0));
  // version [0], serialNumber, signature, issuer, validity, subject
  const first = fields[0]![0] === 0xa0 ? 1 : 0;
  return fields[first + 4]!;
}

/** Returns the value of an extension of a certificate. */
export function extensionOf(certificate: string, id: string): Buffer | undefined {
  const fields = children(child(new X509Certificate(certificate).raw, 0));
  const all = fields.find((field) => field[0] === 0xa3);
  if (all === undefined) return undefined;
  const found = children(child(all, 0)).find((one) => objectIdText(child(one, 0)) === id);
  return found === undefined ? undefined : content(child(found, -1));
}

/**
 * Subject alternative names, DER. Throws a TypeError if an address is invalid.
 */
export function alternativeNames(options: {
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}): Buffer[] {
  return [
    ...(options.dnsNames ?? []).map((name) => tagged(0x82, Buffer.from(name, "ascii"))),
    ...(options.ipAddresses ?? []).map((address) => tagged(0x87, sanBytes(address))),
  ];
}

/** Four bytes for an IPv4 address in either notation, as Go's crypto/x509. */
function sanBytes(text: string): Uint8Array {
  const address = parseAddress(text);
  if (typeof address === "string") throw new TypeError(`${quoted(text)} is not an IP address: ${address}`);
  if (address.zone !== "")
    throw new TypeError(
      `${quoted(text)} has a zone, which no certificate can name: leave out %${address.zone}`,
    );
  return addressBytes(address);
}
