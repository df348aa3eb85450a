import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { quoted } from "@dray/api";
import { parseCertificateRequest, signatureProblem } from "./certificate-request.ts";
import { bits, content, objectId, sequence, tagged } from "./der.ts";
import { assembleCertificate, extension, extensionOf, subjectOf } from "./x509.ts";

export interface SigningOptions {
  /** `spec.usages` of a CertificateSigningRequest. */
  readonly usages: readonly string[];
  /** Milliseconds for which the certificate is valid. */
  readonly duration: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Bits of the extension KeyUsage (RFC 5280, 4.2.1.3). */
const keyUsages: ReadonlyMap<string, number> = new Map([
  ["signing", 0],
  ["digital signature", 0],
  ["content commitment", 1],
  ["key encipherment", 2],
  ["data encipherment", 3],
  ["key agreement", 4],
  ["cert sign", 5],
  ["crl sign", 6],
  ["encipher only", 7],
  ["decipher only", 8],
]);

/** Purposes of the extension ExtKeyUsage, in the order in which Go writes them. */
const extendedUsages: ReadonlyMap<string, string> = new Map([
  ["any", "2.5.29.37.0"],
  ["server auth", "1.3.6.1.5.5.7.3.1"],
  ["client auth", "1.3.6.1.5.5.7.3.2"],
  ["code signing", "1.3.6.1.5.5.7.3.3"],
  ["email protection", "1.3.6.1.5.5.7.3.4"],
  ["s/mime", "1.3.6.1.5.5.7.3.4"],
  ["ipsec end system", "1.3.6.1.5.5.7.3.5"],
  ["ipsec tunnel", "1.3.6.1.5.5.7.3.6"],
  ["ipsec user", "1.3.6.1.5.5.7.3.7"],
  ["timestamping", "1.3.6.1.5.5.7.3.8"],
  ["ocsp signing", "1.3.6.1.5.5.7.3.9"],
  ["microsoft sgc", "1.3.6.1.4.1.311.10.3.3"],
  ["netscape sgc", "2.16.840.1.113730.4.1"],
]);

/** Backdates certificates, for clock skew. */
const backdate = 5 * 60_000;
/** Certificates that are valid for less than this are not shortened by the backdating. */
const short = 8 * 60 * 60_000;

/**
 * Signs `spec.request` of a CertificateSigningRequest (PEM in base64) with the authority, and returns the
 * certificate as PEM. Subject and alternative names are those of the request. Throws a TypeError if the
 * request cannot be parsed or is not signed with its own key, for an unknown usage, and if the authority has
 * expired.
 *
 * Upstream: pkg/controller/certificates/authority, PermissiveSigningPolicy.
 */
export function signCertificateRequest(
  authority: { readonly certificate: string; readonly key: string },
  request: string,
  { usages, duration, now }: SigningOptions,
): string {
  const parsed = parseCertificateRequest(request);
  const problem = "error" in parsed ? parsed.error : signatureProblem(request);
  if ("error" in parsed || problem !== undefined)
    throw new TypeError(`unable to verify certificate request signature: ${problem}`);
  const expiry = new X509Certificate(authority.certificate).validToDate.getTime();
  if (now >= expiry)
    throw new TypeError(`the signer has expired: NotAfter=${new Date(expiry).toISOString()}`);
  const issuerKey = createPrivateKey(authority.key);
  const names = parsed.alternativeNames.filter(({ type }) => type !== "other").map(({ der }) => der);
  return assembleCertificate({
    issuer: subjectOf(authority.certificate),
    subject: parsed.subject,
    from: now - backdate,
    until: Math.min(expiry, now + duration - (duration < short ? 0 : backdate)),
    publicKey: parsed.publicKey,
    issuerKey,
    extensions: [
      ...usageExtensions(usages),
      extension("2.5.29.19", true, sequence()),
      extension("2.5.29.35", false, sequence(tagged(0x80, subjectKeyIdOf(authority.certificate)))),
      ...(names.length === 0
        ? []
        : [extension("2.5.29.17", content(parsed.subject).length === 0, sequence(...names))]),
    ],
  });
}

function usageExtensions(usages: readonly string[]): Buffer[] {
  const unknown = usages.filter((usage) => !keyUsages.has(usage) && !extendedUsages.has(usage));
  if (unknown.length > 0)
    throw new TypeError(`unrecognized usage values: [${unknown.map(quoted).join(" ")}]`);
  const numbers = usages.flatMap((usage) => keyUsages.get(usage) ?? []);
  const purposes = new Set(
    [...extendedUsages].filter(([usage]) => usages.includes(usage)).map(([, purpose]) => purpose),
  );
  return [
    ...(numbers.length === 0 ? [] : [extension("2.5.29.15", true, bitString(numbers))]),
    ...(purposes.size === 0 ? [] : [extension("2.5.29.37", false, sequence(...[...purposes].map(objectId)))]),
  ];
}

/** DER omits trailing zeros of a named bit list. */
function bitString(numbers: readonly number[]): Buffer {
  const last = Math.max(...numbers);
  const bytes = Buffer.alloc(Math.floor(last / 8) + 1);
  for (const number of numbers) bytes[number >> 3]! |= 0x80 >> (number & 7);
  return bits(bytes, 7 - (last & 7));
}

/** Returns the subject key id of the authority: its extension, or the computed one. */
function subjectKeyIdOf(certificate: string): Buffer {
  const value = extensionOf(certificate, "2.5.29.14");
  if (value !== undefined) return content(value);
  const key = new X509Certificate(certificate).publicKey.export({ type: "spki", format: "der" });
  return createHash("sha1").update(key).digest();
}
