import { isDigest } from "./reference.ts";

/** Reference to a blob (OCI image specification, descriptor.md). */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant?: string;
}

/** One image: its configuration and its layers, lowest first. */
export interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** Configuration of an image (OCI image specification, config.md). */
export interface ImageConfig {
  /** `USER[:GROUP]`, names or numbers; empty for root. */
  readonly user: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly workingDir: string;
  /** `SIGQUIT` or a number; empty for SIGTERM. */
  readonly stopSignal: string;
  readonly volumes: readonly string[];
  /** Digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly string[];
}

/** A document of an image is invalid. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
}

/**
 * Maximum size in bytes of a manifest, an index or a configuration. Upstream: containerd, MaxManifestSize is
 * smaller.
 */
export const maxDocumentBytes = 8 << 20;
/** Maximum number of layers of an image. */
const maxLayers = 500;

export const ociManifest = "application/vnd.oci.image.manifest.v1+json";
export const ociIndex = "application/vnd.oci.image.index.v1+json";
export const dockerManifest = "application/vnd.docker.distribution.manifest.v2+json";
export const dockerList = "application/vnd.docker.distribution.manifest.list.v2+json";
export const ociConfig = "application/vnd.oci.image.config.v1+json";

/** Platform of this machine. Upstream: containerd platforms, DefaultSpec. */
export function ownPlatform(): Platform {
  const architectures: Record<string, string> = { x64: "amd64", ia32: "386" };
  const architecture = architectures[process.arch] ?? process.arch;
  return { os: "linux", architecture, ...(process.arch === "arm64" ? { variant: "v8" } : {}) };
}

type Json = Readonly<Record<string, unknown>>;

function parseObject(text: string, what: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ManifestError(`${what} is not JSON: ${(error as Error).message}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ManifestError(`${what} is not a JSON object`);
  return value as Json;
}

/** Parses a manifest, or an index of manifests for several platforms. Throws ManifestError. */
export function parseManifest(
  text: string,
  what: string,
): { readonly manifest: Manifest } | { readonly index: readonly Descriptor[] } {
  const json = parseObject(text, what);
  if (json["schemaVersion"] === 1)
    throw new ManifestError(
      `${what} has schema version 1, which is no longer supported; push the image again`,
    );
  if (Array.isArray(json["manifests"]) && json["layers"] === undefined)
    return {
      index: json["manifests"].map((one, i) => parseDescriptor(one, `${what}: manifests[${i}]`)),
    };
  if (!Array.isArray(json["layers"]) || json["config"] === undefined)
    throw new ManifestError(`${what} has neither "manifests" nor "config" and "layers"`);
  if (json["layers"].length > maxLayers)
    throw new ManifestError(
      `${what} has ${json["layers"].length} layers; at most ${maxLayers} are supported`,
    );
  return {
    manifest: {
      config: parseDescriptor(json["config"], `${what}: config`),
      layers: json["layers"].map((one, i) => parseDescriptor(one, `${what}: layers[${i}]`)),
    },
  };
}

function parseDescriptor(value: unknown, what: string): Descriptor {
  const { mediaType, digest, size, platform, annotations } = (value ?? {}) as Record<string, unknown>;
  if (typeof digest !== "string" || !isDigest(digest))
    throw new ManifestError(
      `${what}: digest ${JSON.stringify(digest)} is not sha256: and 64 hexadecimal digits`,
    );
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw new ManifestError(`${what}: size ${JSON.stringify(size)} is not a number of bytes`);
  return {
    mediaType: typeof mediaType === "string" ? mediaType : "",
    digest,
    size,
    ...(platform === undefined || platform === null ? {} : { platform: parsePlatform(platform as Json) }),
    ...(annotations === undefined || annotations === null ? {} : { annotations: texts(annotations as Json) }),
  };
}

function parsePlatform({ os, architecture, variant }: Json): Platform {
  return {
    os: typeof os === "string" ? os : "",
    architecture: typeof architecture === "string" ? architecture : "",
    ...(typeof variant === "string" && variant !== "" ? { variant } : {}),
  };
}

function texts(json: Json): Record<string, string> {
  return Object.fromEntries(
    Object.entries(json).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

/**
 * Chooses the manifest of an index that matches a platform best. Throws ManifestError, which lists the
 * platforms of the index.
 */
export function choosePlatform(index: readonly Descriptor[], wanted: Platform, what: string): Descriptor {
  // Signatures and attestations are listed beside the images, without a platform.
  const images = index.filter(({ platform }) => platform === undefined || platform.os !== "unknown");
  const rank = ({ platform }: Descriptor): number => {
    if (platform === undefined) return 1;
    if (platform.os !== wanted.os || platform.architecture !== wanted.architecture) return 0;
    if (platform.variant === wanted.variant) return 4;
    if (platform.variant === undefined || wanted.variant === undefined) return 3;
    // A newer processor of the same family runs programs of an older one.
    return platform.variant < wanted.variant ? 2 : 0;
  };
  const [best] = images.filter((one) => rank(one) > 0).sort((a, b) => rank(b) - rank(a));
  if (best !== undefined) return best;
  const text = ({ os, architecture, variant }: Platform): string =>
    [os, architecture, ...(variant === undefined ? [] : [variant])].join("/");
  const there = images.flatMap(({ platform }) => (platform === undefined ? [] : [text(platform)]));
  throw new ManifestError(
    `${what}: no match for platform ${text(wanted)}; the image is there for ${there.join(", ") || "none"}`,
  );
}

/** Throws ManifestError. */
export function parseImageConfig(text: string, what: string): ImageConfig {
  const json = parseObject(text, what);
  const rootfs = (json["rootfs"] ?? {}) as Json;
  const config = (json["config"] ?? {}) as Json;
  const diffIds = strings(rootfs["diff_ids"] ?? [], `${what}: rootfs.diff_ids`);
  const wrong = diffIds.find((id) => !isDigest(id));
  if (wrong !== undefined)
    throw new ManifestError(`${what}: rootfs.diff_ids: ${JSON.stringify(wrong)} is not a sha256 digest`);
  const string = (name: string): string => {
    const value = config[name] ?? "";
    if (typeof value !== "string") throw new ManifestError(`${what}: config.${name} is not a text`);
    return value;
  };
  return {
    user: string("User"),
    env: strings(config["Env"] ?? [], `${what}: config.Env`),
    entrypoint: strings(config["Entrypoint"] ?? [], `${what}: config.Entrypoint`),
    cmd: strings(config["Cmd"] ?? [], `${what}: config.Cmd`),
    workingDir: string("WorkingDir"),
    stopSignal: string("StopSignal"),
    volumes: Object.keys((config["Volumes"] ?? {}) as Json),
    diffIds,
  };
}

function strings(value: unknown, what: string): readonly string[] {
  if (!Array.isArray(value) || value.some((one) => typeof one !== "string" || one.includes("\0")))
    throw new ManifestError(`${what} is not a list of texts`);
  return value as string[];
}
