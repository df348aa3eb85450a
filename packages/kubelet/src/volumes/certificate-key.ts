import { generateKeyPair, type KeyObject, sign } from "node:crypto";
import { promisify } from "node:util";

/** A key of a pod, with the proof that the node has it. */
export interface CertificateKey {
  /** PKCS#8, PEM. */
  readonly privateKey: string;
  /** `spec.stubPKCS10Request`: a PKCS#10 request without a subject, signed by the key; DER in base64. */
  readonly stubRequest: string;
}

const generate = promisify(generateKeyPair);

interface KeyType {
  make(): Promise<{ readonly privateKey: KeyObject; readonly publicKey: KeyObject }>;
  /** AlgorithmIdentifier of its signatures, DER in hexadecimal (RFC 4055, RFC 5758, RFC 8410). */
  readonly algorithm: string;
  /** Null for algorithms with a digest of their own. */
  readonly digest: string | null;
}

const rsa = (modulusLength: number): KeyType => ({
  make: () => generate("rsa", { modulusLength }),
  algorithm: "300d06092a864886f70d01010b0500",
  digest: "sha256",
});
const ecdsa = (namedCurve: string, bits: 256 | 384 | 512): KeyType => ({
  make: () => generate("ec", { namedCurve }),
  algorithm: `300a06082a8648ce3d04030${bits / 128}`,
  digest: `sha${bits}`,
});

/**
 * Upstream: pkg/kubelet/podcertificate/podcertificatemanager.go, generateKeyAndProof; digests as Go's
 * crypto/x509.
 */
const keyTypes = new Map<string, KeyType>([
  ["RSA3072", rsa(3072)],
  ["RSA4096", rsa(4096)],
  ["ECDSAP256", ecdsa("P-256", 256)],
  ["ECDSAP384", ecdsa("P-384", 384)],
  ["ECDSAP521", ecdsa("P-521", 512)],
  ["ED25519", { make: () => generate("ed25519"), algorithm: "300506032b6570", digest: null }],
]);

/** Makes a key of a `keyType` of podCertificate sources (KEP-4317). Rejects for an unknown type. */
export async function makeCertificateKey(keyType: string): Promise<CertificateKey> {
  const type = keyTypes.get(keyType);
  if (type === undefined)
    throw new Error(
      `unknown keyType ${JSON.stringify(keyType)}; supported are ${[...keyTypes.keys()].join(", ")}`,
    );
  const { privateKey, publicKey } = await type.make();
  // CertificationRequestInfo of RFC 2986: version 0, an empty name, the key, no attributes.
  const info = sequence(
    Buffer.from("020100", "hex"),
    sequence(),
    publicKey.export({ type: "spki", format: "der" }),
    Buffer.from("a000", "hex"),
  );
  const signature = sign(type.digest, info, privateKey);
  const request = sequence(info, Buffer.from(type.algorithm, "hex"), der(0x03, Buffer.from([0]), signature));
  return {
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    stubRequest: request.toString("base64"),
  };
}

const sequence = (...items: readonly Buffer[]): Buffer => der(0x30, ...items);

/** A DER value of less than 64 KiB. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}
