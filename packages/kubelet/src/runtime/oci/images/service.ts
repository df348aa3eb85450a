import { RuntimeError } from "../../error.ts";
import type { Image, ImageCredentials, ImageService, PullOptions } from "../../images.ts";
import { type ImportedImage, type ImportOptions, importImages } from "./import.ts";
import {
  formatReference,
  InvalidReferenceError,
  isDigest,
  parseReference,
  type Reference,
  repositoryOf,
} from "./reference.ts";
import { RegistryError } from "./registry/error.ts";
import { pullImage } from "./registry/pull.ts";
import type { RegistryOptions } from "./registry/session.ts";
import { chainIds, type SnapshotMode, Snapshots } from "./snapshots.ts";
import { ContentStore, type ReadImage } from "./store.ts";

export interface ImageStoreOptions extends RegistryOptions {
  /** Folder of the images; several agents of one machine may share it. */
  readonly directory: string;
  /** How roots are made; detected by default. */
  readonly snapshots?: SnapshotMode;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** An image with its documents, for making a container. */
export interface ResolvedImage extends ReadImage {
  /** As `Image.ref`. */
  readonly ref: string;
}

/** Images of containers on disk and from registries. */
export class OciImages implements ImageService {
  readonly pulls = true;
  readonly snapshots: Snapshots;
  readonly #store: ContentStore;
  readonly #options: ImageStoreOptions;

  private constructor(store: ContentStore, snapshots: Snapshots, options: ImageStoreOptions) {
    this.#store = store;
    this.snapshots = snapshots;
    this.#options = options;
  }

  /** Opens or makes the store, and removes everything without an image or container. */
  static async open(options: ImageStoreOptions): Promise<OciImages> {
    const store = new ContentStore(options.directory, options.now);
    try {
      const images = new OciImages(store, await Snapshots.open(store, options.snapshots), options);
      // Left by agents that were killed.
      await images.collect();
      return images;
    } catch (error) {
      store.close();
      throw error;
    }
  }

  /** Folder of the images. */
  get directory(): string {
    return this.#options.directory;
  }

  close(): void {
    this.#store.close();
  }

  async imageStatus(image: string): Promise<Image | undefined> {
    const manifest = this.#find(image);
    if (manifest === undefined) return undefined;
    return (await this.#describe(manifest)) ?? undefined;
  }

  /**
   * Pulls an image, trying the credentials in order, or without any. Reasons of its errors:
   * `InvalidImageName`, `ErrImagePull`, and `RegistryUnavailable` for a registry that cannot be reached.
   */
  async pullImage(
    image: string,
    credentials: readonly ImageCredentials[],
    { signal, nodeNetwork }: PullOptions = {},
  ): Promise<string> {
    const reference = parse(image);
    const tries = credentials.length === 0 ? [undefined] : credentials;
    const errors: Error[] = [];
    for (const one of tries)
      try {
        return await this.#store.withLease(async (lease) => {
          const { manifest, target } = await pullImage(
            reference,
            { credentials: one, options: this.#options, signal, nodeNetwork },
            this.#store,
            lease,
          );
          // Unpacked now, so that a damaged layer is an error of the pull.
          await this.snapshots.prepare(await this.#store.readImage(manifest), signal);
          const byDigest = `${repositoryOf(reference)}@${target}`;
          for (const name of new Set([formatReference(reference), byDigest])) this.#store.tag(name, manifest);
          return byDigest;
        });
      } catch (error) {
        errors.push(error as Error);
        if (signal?.aborted) break;
      }
    const texts = [...new Set(errors.map((error) => error.message))].join("; ");
    const unavailable = errors.every(
      (error) => error instanceof RegistryError && (error.status ?? 503) >= 500,
    );
    throw new RuntimeError(
      unavailable && !signal?.aborted ? "RegistryUnavailable" : "ErrImagePull",
      `failed to pull and unpack image ${JSON.stringify(formatReference(reference))}: ${texts}`,
      { cause: errors[0] },
    );
  }

  /** Imports images from a folder or archive (`dray image load`). Throws an error with the path. */
  async importImages(path: string, options: ImportOptions = {}): Promise<readonly ImportedImage[]> {
    const imported = await importImages(this.#store, path, options);
    // Images that have lost their names to these.
    await this.collect();
    return imported;
  }

  /**
   * Removes a name, and with the last one the image; by an ID or digest, the image with all its names.
   * Returns the names removed, undefined if the image is missing. Running containers keep their files.
   */
  async removeName(text: string): Promise<readonly string[] | undefined> {
    const manifest = this.#find(text);
    if (manifest === undefined) return undefined;
    const all = this.#store.images().find((one) => one.manifest === manifest)?.references ?? [];
    const names = isDigest(text) ? all : [formatReference(parse(text))];
    this.#store.untag(names);
    await this.collect();
    return names;
  }

  async listImages(): Promise<readonly Image[]> {
    const images = await Promise.all(this.#store.images().map(({ manifest }) => this.#describe(manifest)));
    return images.filter((image) => image !== undefined);
  }

  /** Images of all agents that share the store. */
  async usedImages(): Promise<ReadonlySet<string>> {
    const used = this.snapshots.used();
    const refs: string[] = [];
    for (const { manifest } of this.#store.images()) {
      const image = await this.#store.readImage(manifest).catch(() => undefined);
      if (image === undefined) continue;
      const top = chainIds(image.config.diffIds).at(-1);
      // An image without layers takes no room, and its users are unknown.
      if (top !== undefined && !used.has(top)) continue;
      const described = await this.#describe(manifest);
      if (described !== undefined) refs.push(described.ref);
    }
    return new Set(refs);
  }

  async imageFolder(): Promise<string> {
    return this.#store.directory;
  }

  /** Removes an image with all its names; running containers keep their files. Ignores a missing one. */
  async removeImage(ref: string): Promise<void> {
    const manifest = this.#find(ref);
    if (manifest !== undefined) {
      const image = this.#store.images().find((one) => one.manifest === manifest);
      this.#store.untag(image?.references ?? []);
    }
    await this.collect();
  }

  /** Removes everything without an image or container. */
  async collect(): Promise<void> {
    await this.snapshots.collect();
    await this.#store.collect();
  }

  /** Throws a RuntimeError (`CreateContainerError`) if the image is missing or damaged. */
  async resolve(ref: string): Promise<ResolvedImage> {
    const manifest = this.#find(ref);
    if (manifest === undefined)
      throw new RuntimeError("CreateContainerError", `the image ${JSON.stringify(ref)} is not on this node`);
    try {
      return { ...(await this.#store.readImage(manifest)), ref };
    } catch (error) {
      throw new RuntimeError(
        "CreateContainerError",
        `the image ${JSON.stringify(ref)} is damaged: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
  }

  /** Digest of the manifest by a name, an image ID or a digest. */
  #find(text: string): string | undefined {
    if (isDigest(text)) {
      const direct = this.#store.find(text);
      return direct ?? this.#store.images().find(({ manifest }) => manifest === text)?.manifest;
    }
    return this.#store.find(formatReference(parse(text)));
  }

  /** Undefined if its documents are damaged: it must be pulled again. */
  async #describe(manifest: string): Promise<Image | undefined> {
    const references = this.#store.images().find((one) => one.manifest === manifest)?.references ?? [];
    let image: ReadImage;
    try {
      image = await this.#store.readImage(manifest);
    } catch {
      return undefined;
    }
    const digests = references.filter((reference) => reference.includes("@"));
    const tags = references.filter((reference) => !reference.includes("@") && !isDigest(reference));
    return {
      ref: digests[0] ?? manifest,
      tags,
      digests,
      sizeBytes: image.sizeBytes,
      // An imported image cannot be pulled again.
      pinned: digests.length === 0,
      user: userOf(image.config.user),
    };
  }
}

/** Throws a RuntimeError (`InvalidImageName`). */
function parse(image: string): Reference {
  try {
    return parseReference(image);
  } catch (error) {
    if (error instanceof InvalidReferenceError)
      throw new RuntimeError("InvalidImageName", error.message, { cause: error });
    throw error;
  }
}

/** Upstream: pkg/kubelet/kuberuntime, getImageUser: root without a user. */
function userOf(text: string): number | string {
  const [user = ""] = text.split(":");
  if (user === "") return 0;
  return /^\d+$/.test(user) ? Number(user) : user;
}
