import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

/** What a service-account token says (the claims of Kubernetes' bound tokens). */
export interface TokenClaims {
  readonly aud: readonly string[];
  /** Seconds since the epoch. */
  readonly exp: number;
  readonly iat: number;
  readonly nbf: number;
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

/** Signs and checks JWTs with one key: ES256 for a P-256 key, RS256 for an RSA key. */
export class TokenSigner {
  readonly #private: KeyObject;
  readonly #public: KeyObject;
  readonly #algorithm: "ES256" | "RS256";
  readonly #keyId: string;

  /** `key` is a private key in PEM form. Throws a TypeError for other kinds of keys. */
  constructor(key: string) {
    this.#private = createPrivateKey(key);
    this.#public = createPublicKey(this.#private);
    const type = this.#private.asymmetricKeyType;
    if (type !== "ec" && type !== "rsa") {
      throw new TypeError(`the service-account key is of type ${type}: an EC (P-256) or RSA key is needed`);
    }
    this.#algorithm = type === "ec" ? "ES256" : "RS256";
    const der = this.#public.export({ type: "spki", format: "der" });
    this.#keyId = createHash("sha256").update(der).digest("base64url");
  }

  sign(claims: TokenClaims): string {
    const head = encode({ alg: this.#algorithm, kid: this.#keyId });
    const text = `${head}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(text), { key: this.#private, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  }

  /** The claims of a token that this key has signed, whatever they say; undefined if it has not. */
  verify(token: string): TokenClaims | undefined {
    const parts = token.split(".");
    if (parts.length !== 3) return undefined;
    const head = decode(parts[0]!);
    if (head?.["alg"] !== this.#algorithm) return undefined;
    const text = Buffer.from(`${parts[0]}.${parts[1]}`);
    const signature = Buffer.from(parts[2]!, "base64url");
    const key = { key: this.#public, dsaEncoding: "ieee-p1363" } as const;
    if (!verify("sha256", text, key, signature)) return undefined;
    return decode(parts[1]!) as TokenClaims | undefined;
  }
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
