/** A reference to an image with its defaults filled in. */
export interface Reference {
  /** Host of the registry, with its port if it has one: `docker.io`, `localhost:5000`. */
  readonly domain: string;
  /** Path in the registry: `library/busybox`. */
  readonly path: string;
  /** Absent with a digest and no tag. */
  readonly tag?: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest?: string;
}

/** A text that is not a reference to an image. */
export class InvalidReferenceError extends Error {
  override readonly name = "InvalidReferenceError";
}

const maxNameLength = 255;
const domainComponent = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domainPattern = new RegExp(
  `^(?:${domainComponent}(?:\\.${domainComponent})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`,
);
const pathPattern = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
/** Supported digests. */
const digestPattern = /^sha256:[a-f0-9]{64}$/;

/** True for `sha256:` and 64 lower-case hexadecimal digits. */
export function isDigest(text: string): boolean {
  return digestPattern.test(text);
}

/**
 * Parses a reference as users write it, with the defaults of Docker Hub: `busybox` is
 * `docker.io/library/busybox:latest`. Throws InvalidReferenceError.
 *
 * Upstream: github.com/distribution/reference, ParseDockerRef and its grammar.
 */
export function parseReference(text: string): Reference {
  const fail = (problem: string): never => {
    throw new InvalidReferenceError(
      `invalid image reference ${JSON.stringify(text)}: ${problem}; expected [HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST]`,
    );
  };
  if (text === "") fail("it is empty");
  if (/^[a-f0-9]{64}$/.test(text)) fail("it is an image ID, not a name");
  const at = text.indexOf("@");
  const digest = at < 0 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !isDigest(digest))
    fail(`the digest ${JSON.stringify(digest)} is not sha256: and 64 lower-case hexadecimal digits`);
  const rest = at < 0 ? text : text.slice(0, at);
  const colon = rest.indexOf(":", rest.lastIndexOf("/") + 1);
  const name = colon < 0 ? rest : rest.slice(0, colon);
  const tag = colon < 0 ? undefined : rest.slice(colon + 1);
  if (tag !== undefined && !tagPattern.test(tag))
    fail(
      `the tag ${JSON.stringify(tag)} is not up to 128 letters, digits, "_", "." and "-" that begin with a letter, digit or "_"`,
    );
  const { domain, path } = splitDomain(name);
  if (!domainPattern.test(domain)) fail(`${JSON.stringify(domain)} is not a host name with an optional port`);
  if (path !== path.toLowerCase()) fail(`the path ${JSON.stringify(path)} must be lower-case`);
  if (!pathPattern.test(path))
    fail(
      `the path ${JSON.stringify(path)} is not lower-case letters and digits, separated by ".", "_", "__", "-" or "/"`,
    );
  if (domain.length + 1 + path.length > maxNameLength)
    fail(`the name has more than ${maxNameLength} characters`);
  return {
    domain,
    path,
    ...(tag !== undefined ? { tag } : digest === undefined ? { tag: "latest" } : {}),
    ...(digest === undefined ? {} : { digest }),
  };
}

/** The part before the first slash is a host if it cannot be part of a path on Docker Hub. */
function splitDomain(name: string): { domain: string; path: string } {
  const slash = name.indexOf("/");
  const first = name.slice(0, Math.max(slash, 0));
  const isHost = first === "localhost" || /[.:]/.test(first) || first !== first.toLowerCase();
  if (slash >= 0 && isHost && first !== "index.docker.io" && first !== "docker.io")
    return { domain: first, path: name.slice(slash + 1) };
  const path = isHost && slash >= 0 ? name.slice(slash + 1) : name;
  return { domain: "docker.io", path: path.includes("/") ? path : `library/${path}` };
}

/** Name without tag or digest: `docker.io/library/busybox`. */
export function repositoryOf({ domain, path }: Reference): string {
  return `${domain}/${path}`;
}

/** Formats a reference. One with a digest omits its tag, since the digest alone decides. */
export function formatReference(reference: Reference): string {
  const { digest, tag } = reference;
  return `${repositoryOf(reference)}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}
