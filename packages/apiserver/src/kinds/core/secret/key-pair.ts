import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { pemBlocks } from "@dray/api/pem";

/**
 * Why a certificate and a key, both PEM, cannot serve TLS together; undefined if they can. The words are
 * those of Go's `tls.X509KeyPair`, which the API server repeats.
 */
export function keyPairProblem(certificate: string, key: string): string | undefined {
  const blocks = [...pemBlocks(certificate)];
  const own = blocks.find(({ type }) => type === "CERTIFICATE");
  if (own === undefined) return noCertificate(blocks.map(({ type }) => type));
  const keys = [...pemBlocks(key)];
  const secret = keys.find(({ type }) => type.endsWith("PRIVATE KEY"));
  if (secret === undefined) return noKey(keys.map(({ type }) => type));
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(own.block);
  } catch {
    return "x509: malformed certificate";
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(secret.block);
  } catch {
    return "tls: failed to parse private key";
  }
  if (parsed.checkPrivateKey(privateKey)) return undefined;
  return parsed.publicKey.asymmetricKeyType === privateKey.asymmetricKeyType
    ? "tls: private key does not match public key"
    : "tls: private key type does not match public key type";
}

function noCertificate(found: readonly string[]): string {
  if (found.length === 0) return "tls: failed to find any PEM data in certificate input";
  if (found.length === 1 && found[0]!.endsWith("PRIVATE KEY")) {
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched";
  }
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [${found.join(" ")}]`;
}

function noKey(found: readonly string[]): string {
  if (found.length === 0) return "tls: failed to find any PEM data in key input";
  if (found.length === 1 && found[0] === "CERTIFICATE")
    return "tls: found a certificate rather than a key in the PEM for the private key";
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the following types: [${found.join(" ")}]`;
}
