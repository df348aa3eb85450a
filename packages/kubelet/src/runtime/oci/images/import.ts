import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { readRegularFile } from "@dray/files";
import { compressionOf, decompress } from "./compression.ts";
import {
  choosePlatform,
  type Descriptor,
  type Manifest,
  ManifestError,
  maxDocumentBytes,
  ociConfig,
  ociManifest,
  ownPlatform,
  parseImageConfig,
  parseManifest,
} from "./manifest.ts";
import { formatReference, parseReference, repositoryOf } from "./reference.ts";
import { ContentError, type ContentStore, type Lease } from "./store.ts";
import { readTar } from "./tar.ts";

/** An imported image. */
export interface ImportedImage {
  /** Digest of the manifest. */
  readonly digest: string;
  /** Names of the image; empty if the archive names none. */
  readonly references: readonly string[];
}

export interface ImportOptions {
  /** Name of images without one, or with only a tag, in the archive: `busybox`, `example.com/app:v1`. */
  readonly name?: string;
}

/** Maximum size in bytes of a decompressed archive. */
const maxArchiveBytes = 256 * 2 ** 30;
const maxBlobBytes = 128 * 2 ** 30;

/**
 * Annotations with the name of an image in an index (OCI image specification, annotations.md; containerd).
 */
const nameAnnotation = "io.containerd.image.name";
const refAnnotation = "org.opencontainers.image.ref.name";

/**
 * Imports images from disk: a folder in OCI layout, a tar archive of one, or the output of `docker save`;
 * archives may be compressed. Skips images for other platforms. Throws an error with the path and the
 * problem, without having added a name.
 */
export async function importImages(
  store: ContentStore,
  path: string,
  options: ImportOptions = {},
): Promise<readonly ImportedImage[]> {
  const base = options.name === undefined ? undefined : parseReference(options.name);
  return store.withLease(async (lease) => {
    try {
      const source = (await stat(path)).isDirectory()
        ? folderSource(store, lease, path)
        : await archiveSource(store, lease, path);
      const named = await readSource(store, lease, source);
      const result: ImportedImage[] = [];
      for (const { digest, names } of named) {
        const references = [...new Set(names.flatMap((name) => referenceOf(name, base)))];
        if (names.length === 0 && base !== undefined) references.push(formatReference(base));
        result.push({ digest, references });
      }
      for (const { digest, references } of result)
        for (const reference of [...references, digest]) store.tag(reference, digest);
      return result;
    } catch (error) {
      throw new Error(`cannot load images from ${path}: ${(error as Error).message}`, { cause: error });
    }
  });
}

/** Documents and blobs of any source. */
interface Source {
  /** Text of a small file; undefined if it does not exist. */
  document(name: string): Promise<string | undefined>;
  /** Adds a blob to the store. */
  take(descriptor: Descriptor): Promise<void>;
  /** The blob of a file that Docker's `manifest.json` names. */
  file(name: string): Promise<{ readonly digest: string; readonly size: number } | undefined>;
}

interface Named {
  readonly digest: string;
  readonly names: readonly string[];
}

async function readSource(store: ContentStore, lease: Lease, source: Source): Promise<readonly Named[]> {
  const index = await source.document("index.json");
  const docker = await source.document("manifest.json");
  if (index !== undefined) return readLayout(store, source, index);
  if (docker !== undefined) return readDocker(store, lease, source, docker);
  throw new ManifestError(
    "it has neither index.json (OCI layout) nor manifest.json (docker save); expected a folder or archive of one of them",
  );
}

/** OCI image specification, image-layout.md. */
async function readLayout(store: ContentStore, source: Source, text: string): Promise<readonly Named[]> {
  const parsed = parseManifest(text, "index.json");
  if (!("index" in parsed)) throw new ManifestError("index.json is a manifest, not an index");
  const named = parsed.index.map((descriptor) => ({
    descriptor,
    name: nameOf(descriptor),
  }));
  // Entries without names are one image for several platforms.
  const chosen = named.every(({ name }) => name === undefined)
    ? [{ descriptor: choosePlatform(parsed.index, ownPlatform(), "index.json"), name: undefined }]
    : named.filter(({ descriptor: { platform } }) => platform?.os !== "unknown");
  const result: { digest: string; names: string[] }[] = [];
  for (const { descriptor, name } of chosen) {
    const digest = await takeImage(store, source, descriptor);
    const known = result.find((one) => one.digest === digest);
    const names = name === undefined ? [] : [name];
    if (known === undefined) result.push({ digest, names });
    else if (name !== undefined) known.names.push(name);
  }
  return result;
}

/** containerd writes whole references; the standard annotation may be a tag alone. */
function nameOf({ annotations }: Descriptor): string | undefined {
  const whole = annotations?.[nameAnnotation];
  return whole === undefined ? annotations?.[refAnnotation] : formatReference(parseReference(whole));
}

/** Imports a manifest, or the one of an index for this machine, with its blobs. Returns its digest. */
async function takeImage(store: ContentStore, source: Source, descriptor: Descriptor): Promise<string> {
  await source.take(descriptor);
  const what = `manifest ${descriptor.digest}`;
  const parsed = parseManifest(await store.readDocument(descriptor.digest), what);
  if ("index" in parsed) return takeImage(store, source, choosePlatform(parsed.index, ownPlatform(), what));
  for (const blob of [parsed.manifest.config, ...parsed.manifest.layers]) await source.take(blob);
  await store.readImage(descriptor.digest);
  return descriptor.digest;
}

/** Imports the output of `docker save`: a list of images with their files. Makes a manifest of each. */
async function readDocker(
  store: ContentStore,
  lease: Lease,
  source: Source,
  text: string,
): Promise<readonly Named[]> {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new ManifestError(`manifest.json is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(list)) throw new ManifestError("manifest.json is not a list of images");
  const result: Named[] = [];
  for (const [i, entry] of list.entries()) {
    const { Config: configName, RepoTags: tags, Layers: layers } = (entry ?? {}) as Record<string, unknown>;
    const isList = (value: unknown): value is string[] =>
      Array.isArray(value) && value.every((one) => typeof one === "string");
    if (
      typeof configName !== "string" ||
      !isList(layers) ||
      !(tags === null || tags === undefined || isList(tags))
    )
      throw new ManifestError(
        `manifest.json: [${i}] must have a Config, a list of Layers and a list of RepoTags`,
      );
    const blob = async (name: string): Promise<{ digest: string; size: number }> => {
      const found = await source.file(name);
      if (found === undefined)
        throw new ManifestError(`manifest.json names ${JSON.stringify(name)}, which is missing`);
      return found;
    };
    const config = { mediaType: ociConfig, ...(await blob(configName)) };
    parseImageConfig(await store.readDocument(config.digest), configName);
    const manifest: Manifest & { schemaVersion: 2; mediaType: string } = {
      schemaVersion: 2,
      mediaType: ociManifest,
      config,
      layers: [],
    };
    const made: Descriptor[] = [];
    for (const name of layers) {
      const found = await blob(name);
      made.push({ mediaType: await layerType(store, found.digest), ...found });
    }
    const { digest } = await store.addDocument(lease, JSON.stringify({ ...manifest, layers: made }));
    await store.readImage(digest);
    result.push({ digest, names: tags ?? [] });
  }
  return result;
}

async function layerType(store: ContentStore, digest: string): Promise<string> {
  const file = await open(store.path(digest), "r");
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    const kind = compressionOf(buffer);
    return `application/vnd.oci.image.layer.v1.tar${kind === "none" ? "" : `+${kind}`}`;
  } finally {
    await file.close();
  }
}

function folderSource(store: ContentStore, lease: Lease, path: string): Source {
  const missing = (error: NodeJS.ErrnoException): undefined => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  };
  return {
    document: async (name) =>
      (await readRegularFile(join(path, name), { maxBytes: maxDocumentBytes }).catch(missing))?.toString(
        "utf8",
      ),
    async take({ digest, size }) {
      if (store.hold(lease, digest)) return;
      const file = join(path, "blobs", "sha256", digest.slice("sha256:".length));
      await store.ingest(lease, { digest, size }, async (offset) => {
        if (!(await stat(file)).isFile()) throw new ContentError(`${file} is not a regular file`);
        return { offset, chunks: createReadStream(file, { start: offset, highWaterMark: 1 << 18 }) };
      });
    },
    file: () => Promise.reject(new ManifestError("a folder must be in OCI layout, with index.json")),
  };
}

/** Reads an archive once, from its beginning: every file that may be a blob is added to the store. */
async function archiveSource(store: ContentStore, lease: Lease, path: string): Promise<Source> {
  const documents = new Map<string, string>();
  const files = new Map<string, { digest: string; size: number }>();
  const links = new Map<string, string>();
  const chunks = createReadStream(path, { highWaterMark: 1 << 18 });
  for await (const entry of readTar(decompress(chunks, maxArchiveBytes))) {
    const name = normalize(Buffer.from(entry.name, "latin1").toString("utf8"));
    const target = Buffer.from(entry.linkName, "latin1").toString("utf8");
    if (entry.type === "symlink") links.set(name, normalize(`${name}/../${target}`));
    else if (entry.type === "link") links.set(name, normalize(target));
    else if (
      entry.type === "file" &&
      (name === "index.json" || name === "manifest.json" || name === "oci-layout")
    ) {
      if (entry.size > maxDocumentBytes)
        throw new ManifestError(`${name} has ${entry.size} bytes; at most ${maxDocumentBytes} are read`);
      const parts: Buffer[] = [];
      for await (const part of entry.content) parts.push(part);
      documents.set(name, Buffer.concat(parts).toString("utf8"));
    } else if (entry.type === "file" && name !== "repositories" && !/(^|\/)(VERSION|json)$/.test(name)) {
      const found = await store.add(lease, entry.content, maxBlobBytes);
      const named = /^blobs\/sha256\/([a-f0-9]{64})$/.exec(name)?.[1];
      if (named !== undefined && `sha256:${named}` !== found.digest)
        throw new ContentError(`${name} is damaged: its digest is ${found.digest}`);
      files.set(name, found);
    }
  }
  const find = (name: string): { digest: string; size: number } | undefined => {
    let place = normalize(name);
    for (let n = 0; n < 8; n++) place = links.get(place) ?? place;
    return files.get(place);
  };
  return {
    document: async (name) => documents.get(name),
    file: async (name) => find(name),
    async take({ digest, size }) {
      const found = find(`blobs/sha256/${digest.slice("sha256:".length)}`);
      // An archive may omit blobs that the store has.
      if (found === undefined ? !store.hold(lease, digest) : found.size !== size)
        throw new ContentError(
          found === undefined
            ? `blob ${digest} is missing`
            : `blob ${digest} has ${found.size} bytes, and its descriptor says ${size}`,
        );
    },
  };
}

/** Normalizes a name in an archive for comparison; it names no file of the machine. */
function normalize(name: string): string {
  const parts: string[] = [];
  for (const part of name.split("/"))
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  return parts.join("/");
}

/** Reference of a name in an archive: a whole one, or a tag of the base name. */
function referenceOf(name: string, base: ReturnType<typeof parseReference> | undefined): string[] {
  if (name === "<none>:<none>") return [];
  if (/[/:]/.test(name)) return [formatReference(parseReference(name))];
  // umoci, skopeo and buildah write the tag alone.
  return base === undefined ? [] : [formatReference(parseReference(`${repositoryOf(base)}:${name}`))];
}
