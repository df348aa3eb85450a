import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/** The claims of a service-account token (Kubernetes' bound tokens). */
export interface TokenClaims {
  readonly aud: readonly string[];
  /** Seconds since the epoch. */
  readonly exp?: number;
  readonly iat?: number;
  readonly nbf?: number;
  readonly iss: string;
  readonly jti: string;
  readonly sub: string;
  readonly "kubernetes.io": {
    readonly namespace: string;
    readonly serviceaccount: NamedObject;
    readonly pod?: NamedObject;
    readonly secret?: NamedObject;
    readonly node?: NamedObject;
  };
}

export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

/** Claims that a trusted key has signed, or the error: an empty text if the token has another issuer. */
export type Verified = { readonly claims: Readonly<Record<string, unknown>> } | { readonly error: string };

interface TrustedKey {
  readonly key: KeyObject;
  readonly id: string;
  readonly algorithm: "ES256" | "RS256";
}

/**
 * Signs JWTs with one key, and checks those of any of several: ES256 for a P-256 key, RS256 for an RSA key.
 */
export class TokenSigner {
  readonly #private: KeyObject;
  readonly #trusted: readonly TrustedKey[];
  readonly algorithm: "ES256" | "RS256";
  readonly #keyId: string;

  /**
   * `key` is a private key in PEM form; `verificationKeys` are the trusted keys: public, private or
   * certificates (--service-account-key-file). If they are empty, only the signing key is trusted. Throws a
   * TypeError for other kinds of keys.
   */
  constructor(key: string, verificationKeys: readonly string[] = []) {
    this.#private = createPrivateKey(key);
    const own = createPublicKey(this.#private);
    this.algorithm = algorithmOf(this.#private);
    const keys = verificationKeys.map((pem) => createPublicKey(pem));
    this.#trusted = (keys.length === 0 ? [own] : keys).map((trusted) => ({
      key: trusted,
      id: keyIdOf(trusted),
      algorithm: algorithmOf(trusted),
    }));
    this.#keyId = keyIdOf(own);
  }

  /** Returns the trusted keys as JSON Web Keys (RFC 7517). */
  publicKeys(): object[] {
    return this.#trusted.map(({ key, id, algorithm }) => {
      const { kty, ...parameters } = key.export({ format: "jwk" });
      return { use: "sig", kty, kid: id, alg: algorithm, ...parameters };
    });
  }

  /** The algorithms of these keys, without duplicates. */
  get algorithms(): string[] {
    return [...new Set(this.#trusted.map(({ algorithm }) => algorithm))].sort();
  }

  sign(claims: TokenClaims | Readonly<Record<string, string>>): string {
    const head = encode({ alg: this.algorithm, kid: this.#keyId });
    const text = `${head}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(text), { key: this.#private, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  }

  /**
   * Returns the claims of a token of one of these issuers that a trusted key has signed. Errors have
   * upstream's messages.
   */
  verify(token: string, issuers: readonly string[]): Verified {
    const parts = token.split(".");
    if (parts.length !== 3 || !parts.every((part) => base64url.test(part))) return { error: "" };
    const [headPart = "", claimsPart = "", signaturePart = ""] = parts;
    const [head, claims] = [decode(headPart), decode(claimsPart)];
    if (head === undefined || claims === undefined || !issuers.includes(claims["iss"] as string)) {
      return { error: "" };
    }
    const keyId = head["kid"] ?? "";
    const keys = this.#trusted.filter(({ id }) => keyId === "" || keyId === id);
    if (keys.length === 0) return { error: "invalid signature, no keys found" };
    const text = Buffer.from(`${headPart}.${claimsPart}`);
    const signature = Buffer.from(signaturePart, "base64url");
    const signed = keys.some(
      ({ key, algorithm }) =>
        head["alg"] === algorithm && verify("sha256", text, { key, dsaEncoding: "ieee-p1363" }, signature),
    );
    // A critical header parameter must be understood, and none is supported.
    if (!signed || head["crit"] !== undefined) {
      return { error: "go-jose/go-jose: error in cryptographic primitive" };
    }
    return { claims };
  }
}

/** Node's decoder skips invalid characters: a token would have many spellings. */
const base64url = /^[\w-]*$/;

function keyIdOf(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("base64url");
}

function algorithmOf({ asymmetricKeyType: type }: KeyObject): "ES256" | "RS256" {
  if (type === "ec") return "ES256";
  if (type === "rsa") return "RS256";
  throw new TypeError(`the service-account key is of type ${type}: an EC (P-256) or RSA key is needed`);
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decode(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
