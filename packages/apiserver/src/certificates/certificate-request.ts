import { createPublicKey, verify } from "node:crypto";
import { addressText, unmapped } from "@dray/api/ip";
import { child, children, content, objectIdText } from "./der.ts";
import { extensionRequestId } from "./x509.ts";

/** A parsed PKCS#10 request. */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly alternativeNames: readonly AlternativeName[];
  /** Distinguished name and SubjectPublicKeyInfo, DER. */
  readonly subject: Buffer;
  readonly publicKey: Buffer;
}

/** A subject alternative name: `der` is the whole value, `text` the address or name. */
export interface AlternativeName {
  readonly type: "dns" | "email" | "ip" | "other" | "uri";
  readonly text: string;
  readonly der: Buffer;
}

/** The error for a request that cannot be parsed. */
export interface UnreadableRequest {
  readonly error: string;
}

const commonNameId = "2.5.4.3";
const organizationId = "2.5.4.10";
const alternativeNameId = "2.5.29.17";

/** The digest of each signature algorithm; null if the algorithm has its own. */
const digests: Readonly<Record<string, string | null | undefined>> = {
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.3.101.112": null,
};

const begin = "-----BEGIN CERTIFICATE REQUEST-----";
const end = "-----END CERTIFICATE REQUEST-----";

/** Reads `spec.request` of a CertificateSigningRequest: PEM in base64. Its signature is not checked. */
export function parseCertificateRequest(request: string): CertificateRequest | UnreadableRequest {
  const der = derOf(request);
  return der === undefined ? { error: withoutBlock } : parse(der);
}

const withoutBlock = "PEM block type must be CERTIFICATE REQUEST";

/** A request with the parts of which its signature is made. */
interface SignedRequest extends CertificateRequest {
  readonly info: Buffer;
  /** Object identifier of the algorithm. */
  readonly algorithm: string;
  readonly signature: Buffer;
}

function parse(der: Buffer): SignedRequest | UnreadableRequest {
  try {
    const [info, algorithm, signature] = [child(der, 0), child(der, 1), child(der, 2)];
    const [, subject, publicKey, ...rest] = children(info);
    if (subject === undefined || publicKey === undefined) throw new RangeError("no subject or public key");
    const names = new Map<string, string[]>();
    for (const relative of children(subject)) {
      for (const attribute of children(relative)) {
        const key = objectIdText(child(attribute, 0));
        names.set(key, [...(names.get(key) ?? []), content(child(attribute, 1)).toString("utf8")]);
      }
    }
    const attributes = rest.find((part) => part[0] === 0xa0);
    return {
      commonName: names.get(commonNameId)?.at(-1) ?? "",
      organizations: names.get(organizationId) ?? [],
      alternativeNames: attributes === undefined ? [] : namesIn(attributes),
      subject,
      publicKey,
      info,
      algorithm: objectIdText(child(algorithm, 0)),
      signature,
    };
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    return { error: "asn1: structure error: the request cannot be read" };
  }
}

/** Checks that a request is signed with its own key; returns the problem, or undefined. */
export function signatureProblem(request: string): string | undefined {
  const der = derOf(request);
  if (der === undefined) return withoutBlock;
  const parsed = parse(der);
  if ("error" in parsed) return parsed.error;
  const { info, algorithm, signature } = parsed;
  const digest = digests[algorithm];
  if (digest === undefined) return "x509: cannot verify signature: algorithm unimplemented";
  try {
    const key = createPublicKey({ key: parsed.publicKey, format: "der", type: "spki" });
    // The first byte of a bit string is the number of unused bits at its end.
    if (verify(digest, info, key, content(signature).subarray(1))) return undefined;
    return "x509: signature does not match the key of the request";
  } catch {
    return "x509: unknown public key algorithm";
  }
}

function namesIn(attributes: Buffer): AlternativeName[] {
  return children(attributes).flatMap((attribute) => {
    if (objectIdText(child(attribute, 0)) !== extensionRequestId) return [];
    return children(child(child(attribute, 1), 0))
      .filter((extension) => objectIdText(child(extension, 0)) === alternativeNameId)
      .flatMap((extension) => children(content(child(extension, -1))))
      .map(readName);
  });
}

/** GeneralName of RFC 5280. */
const nameTypes: Readonly<Record<number, AlternativeName["type"] | undefined>> = {
  129: "email",
  130: "dns",
  134: "uri",
  135: "ip",
};

function readName(der: Buffer): AlternativeName {
  const type = nameTypes[der[0]!] ?? "other";
  const value = content(der);
  return { type, text: type === "ip" ? addressOf(value) : value.toString("latin1"), der };
}

function addressOf(bytes: Buffer): string {
  if (bytes.length !== 4 && bytes.length !== 16) throw new TypeError("an address has 4 or 16 bytes");
  const value = BigInt(`0x${bytes.toString("hex")}`);
  return addressText(unmapped({ bits: bytes.length === 4 ? 32 : 128, value, zone: "" }));
}

function derOf(request: string): Buffer | undefined {
  const pem = Buffer.from(request, "base64").toString("latin1");
  const from = pem.indexOf(begin);
  const to = pem.indexOf(end, from);
  if (from < 0 || to < 0) return undefined;
  return Buffer.from(pem.slice(from + begin.length, to), "base64");
}
