import { createHash, randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, makeFolderSync, moveFile, removeFolder } from "@dray/files";
import { bootId, isAlive, processStat } from "../../host/processes.ts";
import { ownerIsAlive } from "../database.ts";
import { runTool } from "../tools.ts";
import { decompress } from "./compression.ts";
import { DiskRoom } from "./disk-room.ts";
import type { Descriptor } from "./manifest.ts";
import { ContentError, type ContentStore, type ReadImage } from "./store.ts";
import { readTar } from "./tar.ts";
import { unpackLayer } from "./unpack.ts";

/** How roots are made of layers: by overlayfs, or copied. */
export type SnapshotMode = "overlay" | "copy";

/** Maximum size in bytes of a decompressed layer. */
const maxLayerBytes = 128 * 2 ** 30;

/** IDs of the layers up to each (OCI image specification, config.md: ChainID). */
export function chainIds(diffIds: readonly string[]): readonly string[] {
  const chain: string[] = [];
  for (const diffId of diffIds) {
    const below = chain.at(-1);
    chain.push(
      below === undefined
        ? diffId
        : `sha256:${createHash("sha256").update(`${below} ${diffId}`).digest("hex")}`,
    );
  }
  return chain;
}

interface LayerToUnpack {
  readonly chainId: string;
  readonly layer: Descriptor;
  readonly diffId: string;
  readonly signal: AbortSignal | undefined;
}

/**
 * Unpacked layers of images, each once for all images and containers, and the roots of containers on them.
 * They are valid until a reboot: a power failure may leave partial files, so layers are unpacked from their
 * blobs again.
 */
export class Snapshots {
  readonly mode: SnapshotMode;
  readonly #store: ContentStore;
  readonly #owners = process.getuid?.() === 0;

  private constructor(store: ContentStore, mode: SnapshotMode) {
    this.#store = store;
    this.mode = mode;
  }

  /** Detects overlayfs by trying; `mode` selects one way. */
  static async open(store: ContentStore, mode?: SnapshotMode): Promise<Snapshots> {
    for (const folder of ["snapshots", "roots"]) makeFolderSync(join(store.directory, folder), 0o700);
    const found = mode ?? ((await overlayWorks(store.directory)) ? "overlay" : "copy");
    return new Snapshots(store, found);
  }

  /**
   * Makes a writable root of an image for a container. Returns its path. `bundle` is the container's folder:
   * the root is removed by `collect` when that is gone.
   */
  async makeRoot(id: string, bundle: string, image: ReadImage): Promise<string> {
    if (!/^[\w.-]+$/.test(id) || id.startsWith("."))
      throw new TypeError(`${JSON.stringify(id)} is not an ID`);
    const snapshots = await this.#unpack(image, (top) => this.#use(id, bundle, top));
    const folder = join(this.#store.directory, "roots", id);
    for (const name of ["", "fs", "work", "rootfs"]) await makeFolder(join(folder, name), 0o755);
    const root = join(folder, "rootfs");
    if (this.mode === "copy") {
      const top = snapshots.at(-1);
      if (top !== undefined)
        await runTool("cp", ["-a", "--reflink=auto", "--", `${this.#path(top)}/.`, root]);
    } else await this.#mount(snapshots, `roots/${id}`, root);
    return root;
  }

  /** Removes the root of a container. Ignores a missing one. */
  async removeRoot(id: string): Promise<void> {
    const folder = join(this.#store.directory, "roots", id);
    if (existsSync(folder)) {
      await unmountAll(join(folder, "rootfs"));
      await removeFolder(folder);
    }
    this.#store.database.sql.prepare("DELETE FROM roots WHERE path = ?").run(id);
  }

  /** Removes the root of a container, and those of the images that it mounts (`ID.NUMBER`). */
  async removeRoots(id: string): Promise<void> {
    for (const name of readdirSync(join(this.#store.directory, "roots")))
      if (name.startsWith(`${id}.`)) await this.removeRoot(name);
    await this.removeRoot(id);
  }

  /** Chain IDs of the layers in the roots of existing containers. */
  used(): ReadonlySet<string> {
    const rows = this.#store.database.sql
      .prepare("SELECT chain, bundle FROM roots JOIN snapshots ON snapshots.id = roots.snapshot")
      .all();
    return new Set(
      rows.filter((row) => existsSync(String(row["bundle"]))).map((row) => String(row["chain"])),
    );
  }

  /** Unpacks missing layers, so that the first container need not wait. */
  async prepare(image: ReadImage, signal?: AbortSignal): Promise<void> {
    await this.#unpack(image, () => {}, signal);
  }

  /** Calls `use` in the transaction that finds the last layer, which nothing keeps before. */
  async #unpack(
    image: ReadImage,
    use: (top: number) => void,
    signal?: AbortSignal,
  ): Promise<readonly number[]> {
    const chain = chainIds(image.config.diffIds);
    // A found layer may be collected before the next one is found; then all are looked up again.
    for (;;) {
      const ids: number[] = [];
      for (const [i, chainId] of chain.entries())
        ids.push(
          this.#find(chainId) ??
            (await this.#store.database.exclusively(
              `snapshot ${chainId}`,
              async () =>
                this.#find(chainId) ??
                (await this.#make(ids, {
                  chainId,
                  layer: image.manifest.layers[i]!,
                  diffId: image.config.diffIds[i]!,
                  signal,
                })),
              signal === undefined ? {} : { signal },
            )),
        );
      const complete = this.#store.database.transaction(() => {
        if (chain.some((chainId, i) => this.#find(chainId) !== ids[i])) return false;
        const top = ids.at(-1);
        if (top !== undefined) use(top);
        return true;
      });
      if (complete) return ids;
    }
  }

  #use(id: string, bundle: string, top: number): void {
    this.#store.database.sql.prepare("INSERT OR REPLACE INTO roots VALUES (?, ?, ?)").run(id, bundle, top);
  }

  #path(id: number): string {
    return join(this.#store.directory, "snapshots", String(id));
  }

  #find(chainId: string): number | undefined {
    const row = this.#store.database.sql
      .prepare("SELECT id FROM snapshots WHERE chain = ? AND boot = ?")
      .get(chainId, bootId());
    const id = row === undefined ? undefined : Number(row["id"]);
    return id !== undefined && existsSync(this.#path(id)) ? id : undefined;
  }

  async #make(below: readonly number[], layer: LayerToUnpack): Promise<number> {
    const { chainId } = layer;
    const folder = join(this.#store.directory, "snapshots");
    const name = `new-${process.pid}-${processStat(process.pid)?.startTime}-${randomUUID()}`;
    const work = join(folder, name);
    const files = join(work, "fs");
    try {
      for (const one of ["", "fs", "work", "rootfs"]) await makeFolder(join(work, one), 0o755);
      let root = files;
      const parent = below.at(-1);
      if (parent !== undefined)
        if (this.mode === "overlay") {
          root = join(work, "rootfs");
          await this.#mount(below, `snapshots/${name}`, root);
        } else await runTool("cp", ["-al", "--", `${this.#path(parent)}/.`, files]);
      await this.#unpackInto(root, layer);
      await unmountAll(join(work, "rootfs"));
      const id = this.#store.database.transaction(() => {
        const { sql } = this.#store.database;
        sql.prepare("DELETE FROM snapshots WHERE chain = ?").run(chainId);
        const { lastInsertRowid } = sql
          .prepare("INSERT INTO snapshots (chain, parent, boot) VALUES (?, ?, ?)")
          .run(chainId, parent ?? null, bootId());
        return Number(lastInsertRowid);
      });
      await moveFile(files, this.#path(id));
      return id;
    } finally {
      await unmountAll(join(work, "rootfs"));
      await removeFolder(work);
    }
  }

  async #unpackInto(root: string, { layer, diffId, signal }: LayerToUnpack): Promise<void> {
    const hash = createHash("sha256");
    const blob = this.#store.read(layer.digest);
    async function* content(): AsyncGenerator<Buffer> {
      for await (const chunk of decompress(blob, maxLayerBytes)) {
        hash.update(chunk);
        yield chunk;
      }
    }
    try {
      await unpackLayer(root, readTar(content()), {
        owners: this.#owners,
        room: new DiskRoom(this.#store.directory),
        signal,
      });
    } catch (error) {
      throw new ContentError(`cannot unpack layer ${layer.digest}: ${(error as Error).message}`, {
        cause: error,
      });
    }
    const found = `sha256:${hash.digest("hex")}`;
    if (found !== diffId)
      throw new ContentError(`layer ${layer.digest} unpacks to ${found}, and its image names ${diffId}`);
  }

  /** Relative paths, since all options of a mount must fit into a page. */
  async #mount(below: readonly number[], top: string, target: string): Promise<void> {
    const lower = below.map((id) => `snapshots/${id}`).reverse();
    // An image without layers has an empty root.
    if (lower.length === 0)
      return void (await runTool("mount", ["--bind", join(this.#store.directory, top, "fs"), target]));
    const index = existsSync("/sys/module/overlay/parameters/index") ? ",index=off" : "";
    const options = `lowerdir=${lower.join(":")},upperdir=${top}/fs,workdir=${top}/work${index}`;
    await runTool("mount", ["-t", "overlay", "overlay", "-o", options, target], {
      cwd: this.#store.directory,
    });
  }

  /**
   * Removes the roots of containers that are gone, snapshots without an image or a root, and files of killed
   * processes.
   */
  async collect(): Promise<void> {
    const { database, directory } = this.#store;
    for (const row of database.sql.prepare("SELECT path, bundle FROM roots").all())
      if (!existsSync(String(row["bundle"]))) await this.removeRoot(String(row["path"]));
    const wanted = new Set<string>();
    for (const { manifest } of this.#store.images()) {
      const image = await this.#store.readImage(manifest).catch(() => undefined);
      for (const chainId of chainIds(image?.config.diffIds ?? [])) wanted.add(chainId);
    }
    const kept = database.transaction(() => {
      const rows = database.sql
        .prepare("SELECT id, chain, parent FROM snapshots WHERE boot = ?")
        .all(bootId());
      const parents = new Map(rows.map((row) => [Number(row["id"]), row["parent"] as number | null]));
      const roots = database.sql
        .prepare("SELECT snapshot FROM roots")
        .all()
        .map((row) => Number(row["snapshot"]));
      const tops = rows.filter((row) => wanted.has(String(row["chain"]))).map((row) => Number(row["id"]));
      const kept = new Set<number>();
      for (let id of [...roots, ...tops] as (number | null | undefined)[])
        for (; id !== null && id !== undefined && !kept.has(id); id = parents.get(id)) kept.add(id);
      // Another process may be unpacking the next layer on one of them.
      const unpacking = database.sql.prepare("SELECT owner FROM locks WHERE name LIKE 'snapshot %'").all();
      if (unpacking.some((row) => ownerIsAlive(String(row["owner"])))) return undefined;
      const present = database.sql.prepare("SELECT id FROM snapshots").all();
      for (const id of present.map((row) => Number(row["id"])))
        if (!kept.has(id)) database.sql.prepare("DELETE FROM snapshots WHERE id = ?").run(id);
      return kept;
    });
    for (const name of readdirSync(join(directory, "snapshots"))) {
      const path = join(directory, "snapshots", name);
      const [, pid, startTime = ""] = /^new-(\d+)-(\d*)-/.exec(name) ?? [];
      if (pid !== undefined) {
        if (isAlive({ pid: Number(pid), startTime })) continue;
        await unmountAll(join(path, "rootfs"));
      } else if (kept === undefined || this.#exists(Number(name))) continue;
      await removeFolder(path);
    }
  }

  #exists(id: number): boolean {
    return this.#store.database.sql.prepare("SELECT 1 FROM snapshots WHERE id = ?").get(id) !== undefined;
  }
}

/** Unmounts everything at a path; ignores a path without mounts. */
export async function unmountAll(target: string): Promise<void> {
  for (;;) {
    try {
      await runTool("umount", ["--", target]);
    } catch (error) {
      const { message } = error as Error;
      if (/not mounted|no mount point|not found|No such file/.test(message)) return;
      // Another process still uses it.
      if (!/busy/.test(message)) throw error;
      await runTool("umount", ["-l", "--", target]);
    }
  }
}

async function overlayWorks(directory: string): Promise<boolean> {
  const probe = join(directory, `probe-${randomUUID()}`);
  try {
    for (const name of ["", "lower", "upper", "work", "rootfs"]) await makeFolder(join(probe, name));
    const options = "lowerdir=lower,upperdir=upper,workdir=work";
    await runTool("mount", ["-t", "overlay", "overlay", "-o", options, join(probe, "rootfs")], {
      cwd: probe,
    });
    await runTool("umount", ["--", join(probe, "rootfs")]);
    return true;
  } catch {
    return false;
  } finally {
    await removeFolder(probe);
  }
}
