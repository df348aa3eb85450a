import { createHash, type Hash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeFolderSync, moveFile, readRegularFile, readRegularFileSync } from "@dray/files";
import { ownerIsAlive, SharedDatabase, thisOwner } from "../database.ts";
import { DiskRoom } from "./disk-room.ts";
import {
  type ImageConfig,
  type Manifest,
  ManifestError,
  maxDocumentBytes,
  parseImageConfig,
  parseManifest,
} from "./manifest.ts";
import { isDigest } from "./reference.ts";

const schema = `
CREATE TABLE IF NOT EXISTS images (reference TEXT PRIMARY KEY, manifest TEXT NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (id INTEGER PRIMARY KEY, owner TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS leased (lease INTEGER NOT NULL REFERENCES leases ON DELETE CASCADE, digest TEXT NOT NULL,
  PRIMARY KEY (lease, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshots (id INTEGER PRIMARY KEY AUTOINCREMENT, chain TEXT NOT NULL UNIQUE, parent INTEGER,
  boot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS roots (path TEXT PRIMARY KEY, bundle TEXT NOT NULL, snapshot INTEGER NOT NULL) WITHOUT ROWID;
`;

/** A blob does not have the expected digest or size. */
export class ContentError extends Error {
  override readonly name = "ContentError";
}

/** Keeps blobs without an image from being collected. Ends with its process. */
export interface Lease {
  readonly id: number | bigint;
}

/** An image in the store. */
export interface StoredImage {
  /** Digest of the manifest. */
  readonly manifest: string;
  /** Its references, oldest first. */
  readonly references: readonly string[];
}

/** An image with its documents. */
export interface ReadImage {
  readonly manifest: Manifest;
  readonly config: ImageConfig;
  readonly sizeBytes: number;
}

/** Maximum age of a partial blob that is not continued, in milliseconds. */
const maxPartialAge = 24 * 3_600_000;

/** A blob that is expected. */
interface Blob {
  readonly digest: string;
  readonly size: number;
}

/**
 * Blobs by digest, and their images, on disk. Several processes may use one directory. A blob is complete or
 * missing, and always has its digest.
 */
export class ContentStore {
  readonly directory: string;
  readonly database: SharedDatabase;
  readonly #blobs: string;
  readonly #ingest: string;
  readonly #now: () => number;

  constructor(directory: string, now: () => number) {
    this.directory = directory;
    this.#blobs = join(directory, "blobs", "sha256");
    this.#ingest = join(directory, "ingest");
    this.#now = now;
    for (const folder of [this.#blobs, this.#ingest]) makeFolderSync(folder, 0o700);
    this.database = new SharedDatabase(join(directory, "images.db"), schema);
  }

  close(): void {
    this.database.close();
  }

  /** Path of a blob, whether or not it exists. */
  path(digest: string): string {
    // Digests come from images, and could otherwise name any path.
    if (!isDigest(digest)) throw new ContentError(`${JSON.stringify(digest)} is not a sha256 digest`);
    return join(this.#blobs, digest.slice("sha256:".length));
  }

  has(digest: string): boolean {
    return existsSync(this.path(digest));
  }

  /** Runs `work` with a lease that ends with it. */
  async withLease<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    const { sql } = this.database;
    const { lastInsertRowid: id } = sql.prepare("INSERT INTO leases (owner) VALUES (?)").run(thisOwner());
    try {
      return await work({ id });
    } finally {
      sql.prepare("DELETE FROM leases WHERE id = ?").run(id);
    }
  }

  /** Keeps the blob from being collected, also if it is added later. Returns true if it exists. */
  hold(lease: Lease, digest: string): boolean {
    const path = this.path(digest);
    this.database.transaction(() =>
      this.database.sql.prepare("INSERT OR IGNORE INTO leased VALUES (?, ?)").run(lease.id, digest),
    );
    return existsSync(path);
  }

  /**
   * Adds a blob, resuming an earlier attempt: `source` is called for the bytes from an offset, and may begin
   * at 0 all the same. Throws ContentError if the blob is not the expected one; received bytes are kept only
   * if they may be a part of it.
   */
  async ingest(
    lease: Lease,
    { digest, size }: Blob,
    source: (
      offset: number,
    ) => Promise<{ readonly offset: number; readonly chunks: AsyncIterable<Uint8Array> }>,
    signal?: AbortSignal,
  ): Promise<void> {
    if (this.hold(lease, digest)) return;
    await this.database.exclusively(
      `ingest ${digest}`,
      async () => {
        if (existsSync(this.path(digest))) return;
        const partial = join(this.#ingest, `${digest.slice("sha256:".length)}.part`);
        const { hash, offset } = await hashed(partial, size);
        const answer = await source(offset);
        if (answer.offset !== 0 && answer.offset !== offset)
          throw new ContentError(
            `blob ${digest}: bytes from ${offset} on were wanted, and came from ${answer.offset} on`,
          );
        const restarted = answer.offset === 0;
        const { offset: start, chunks } = answer;
        const before = restarted ? createHash("sha256") : hash;
        const room = new DiskRoom(this.directory);
        await writeBlob(partial, chunks, { hash: before, offset: start, digest, size, room });
        await moveFile(partial, this.path(digest));
      },
      signal === undefined ? {} : { signal },
    );
  }

  /** Adds bytes of an unknown digest. Throws a RangeError above `maxBytes`. */
  async add(
    lease: Lease,
    chunks: AsyncIterable<Uint8Array>,
    maxBytes: number,
  ): Promise<{ readonly digest: string; readonly size: number }> {
    const temporary = join(this.#ingest, `${process.pid}-${crypto.randomUUID()}.part`);
    const hash = createHash("sha256");
    const room = new DiskRoom(this.directory);
    let size = 0;
    try {
      const file = await open(temporary, "wx", 0o600);
      try {
        for await (const chunk of chunks) {
          size += chunk.length;
          if (size > maxBytes) throw new RangeError(`more than ${maxBytes} bytes`);
          hash.update(chunk);
          await room.take(chunk.length);
          await file.writeFile(chunk);
        }
        await file.sync();
      } finally {
        await file.close();
      }
      const digest = `sha256:${hash.digest("hex")}`;
      if (!this.hold(lease, digest)) await moveFile(temporary, this.path(digest));
      return { digest, size };
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** Adds a small document. */
  async addDocument(lease: Lease, text: string): Promise<{ readonly digest: string; readonly size: number }> {
    return this.add(
      lease,
      (async function* () {
        yield Buffer.from(text);
      })(),
      maxDocumentBytes,
    );
  }

  async readDocument(digest: string): Promise<string> {
    return (await readRegularFile(this.path(digest), { maxBytes: maxDocumentBytes })).toString("utf8");
  }

  /** Reads a blob, and verifies it once more, since disks fail. */
  async *read(digest: string): AsyncGenerator<Buffer> {
    const path = this.path(digest);
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 })) {
      hash.update(chunk as Buffer);
      yield chunk as Buffer;
    }
    const found = `sha256:${hash.digest("hex")}`;
    if (found === digest) return;
    rmSync(path, { force: true });
    throw new ContentError(
      `${path} was damaged: its digest is ${found}; it has been removed, pull or load the image again`,
    );
  }

  /**
   * Tags an image; the reference is removed from another one. `collect` removes that one if no name is left
   * to it, as containerd does.
   */
  tag(reference: string, manifest: string): void {
    this.database.transaction(() => {
      const before = this.find(reference);
      this.database.sql
        .prepare(
          "INSERT INTO images VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET manifest = excluded.manifest, created = excluded.created",
        )
        .run(reference, manifest, Math.floor(this.#now()));
      if (before !== undefined && before !== manifest) this.#dropNameless(before);
    });
  }

  /** Removes references. `collect` removes images without a name, and blobs that only they referred to. */
  untag(references: readonly string[]): void {
    this.database.transaction(() => {
      const remove = this.database.sql.prepare("DELETE FROM images WHERE reference = ?");
      for (const reference of references) {
        const before = this.find(reference);
        remove.run(reference);
        if (before !== undefined) this.#dropNameless(before);
      }
    });
  }

  /** An image that has lost its last name is not kept by its digest alone. */
  #dropNameless(manifest: string): void {
    const { sql } = this.database;
    const rows = sql.prepare("SELECT reference FROM images WHERE manifest = ?").all(manifest);
    const references = rows.map((row) => String(row["reference"]));
    if (!references.every(isDigest)) return;
    for (const reference of references) sql.prepare("DELETE FROM images WHERE reference = ?").run(reference);
  }

  /** Digest of the manifest of a reference. */
  find(reference: string): string | undefined {
    const row = this.database.sql.prepare("SELECT manifest FROM images WHERE reference = ?").get(reference);
    return row === undefined ? undefined : String(row["manifest"]);
  }

  images(): readonly StoredImage[] {
    const rows = this.database.sql
      .prepare("SELECT reference, manifest FROM images ORDER BY created, reference")
      .all();
    return [...Map.groupBy(rows, (row) => String(row["manifest"]))].map(([manifest, all]) => ({
      manifest,
      references: all.map((row) => String(row["reference"])),
    }));
  }

  /** Reads the documents of an image. Throws if one of them is missing or damaged. */
  async readImage(digest: string): Promise<ReadImage> {
    const parsed = parseManifest(await this.readDocument(digest), `manifest ${digest}`);
    if (!("manifest" in parsed)) throw new ManifestError(`${digest} is an index, not an image`);
    const { manifest } = parsed;
    const config = parseImageConfig(
      await this.readDocument(manifest.config.digest),
      `image configuration ${manifest.config.digest}`,
    );
    if (config.diffIds.length !== manifest.layers.length)
      throw new ManifestError(
        `manifest ${digest} has ${manifest.layers.length} layers, and its configuration names ${config.diffIds.length}`,
      );
    const sizeBytes = [manifest.config, ...manifest.layers].reduce((sum, { size }) => sum + size, 0);
    return { manifest, config, sizeBytes };
  }

  /** Removes blobs without an image or a lease, and partial downloads. Returns their digests. */
  async collect(): Promise<readonly string[]> {
    const now = this.#now();
    return this.database.transaction(() => {
      const { sql } = this.database;
      for (const row of sql.prepare("SELECT id, owner FROM leases").all())
        if (!ownerIsAlive(String(row["owner"])))
          sql.prepare("DELETE FROM leases WHERE id = ?").run(row["id"]!);
      const kept = new Set(
        sql
          .prepare("SELECT digest FROM leased")
          .all()
          .map((row) => String(row["digest"])),
      );
      for (const { manifest } of this.images())
        for (const digest of this.#reachable(manifest)) kept.add(digest);
      const removed: string[] = [];
      for (const name of readdirSync(this.#blobs)) {
        const digest = `sha256:${name}`;
        if (!isDigest(digest) || kept.has(digest)) continue;
        rmSync(join(this.#blobs, name), { force: true });
        removed.push(digest);
      }
      for (const name of readdirSync(this.#ingest)) {
        const path = join(this.#ingest, name);
        const stats = statSync(path, { throwIfNoEntry: false });
        if (stats !== undefined && now - stats.mtimeMs > maxPartialAge) rmSync(path, { force: true });
      }
      return removed;
    });
  }

  /** Digests that a manifest refers to, and its own. A damaged one keeps itself, so that it is listed. */
  #reachable(manifest: string): readonly string[] {
    try {
      const text = readRegularFileSync(this.path(manifest), { maxBytes: maxDocumentBytes }).toString("utf8");
      const parsed = parseManifest(text, manifest);
      if (!("manifest" in parsed)) return [manifest];
      const { config, layers } = parsed.manifest;
      return [manifest, config.digest, ...layers.map(({ digest }) => digest)];
    } catch {
      return [manifest];
    }
  }
}

/** Hash of the partial blob of an earlier attempt, unless it is too large. */
async function hashed(path: string, size: number): Promise<{ hash: Hash; offset: number }> {
  const hash = createHash("sha256");
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || found.size >= size) {
    await rm(path, { force: true });
    return { hash, offset: 0 };
  }
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return { hash, offset: found.size };
}

interface ExpectedBlob {
  /** Hash of the bytes before `offset`. */
  readonly hash: Hash;
  readonly offset: number;
  readonly digest: string;
  readonly size: number;
  readonly room: DiskRoom;
}

/** Writes the bytes of a blob from an offset on. Throws ContentError if they are not the expected ones. */
async function writeBlob(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  { hash, offset, digest, size, room }: ExpectedBlob,
): Promise<void> {
  const file = await open(path, offset === 0 ? "w" : "a", 0o600);
  let total = offset;
  try {
    for await (const chunk of chunks) {
      total += chunk.length;
      if (total > size) {
        await rm(path, { force: true });
        throw new ContentError(`blob ${digest} has more than the ${size} bytes that were announced`);
      }
      await room.take(chunk.length);
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (total < size) throw new ContentError(`blob ${digest} ended after ${total} of ${size} bytes`);
  const found = `sha256:${hash.digest("hex")}`;
  if (found === digest) return;
  await rm(path, { force: true });
  throw new ContentError(`blob ${digest} was not what its digest says: the bytes that came have ${found}`);
}
