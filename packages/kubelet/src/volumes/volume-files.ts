import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  // biome-ignore lint/style/noRestrictedImports: it exchanges a symbolic link, not a file.
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, normalize } from "node:path";
import { makeFolderSync, removeFolder } from "@dray/files";
import { EventLoopShare } from "../base/event-loop-share.ts";
import { giveToGroup } from "./fs-group.ts";

/** A file of a volume that the agent fills. */
export interface VolumeFile {
  /** Path in the volume. */
  readonly path: string;
  readonly content: Buffer;
  readonly mode: number;
  /** Owner; the agent by default. */
  readonly user?: number;
}

/**
 * Writes files atomically: they are in a folder of their own, to which `..data` points, and the visible names
 * are links through it. With `group` they are readable by that group.
 *
 * Upstream: pkg/volume/util/atomic_writer.go.
 */
export async function writeFiles(
  directory: string,
  files: readonly VolumeFile[],
  group?: number,
): Promise<void> {
  for (const { path } of files) checkPath(path);
  makeFolderSync(directory, 0o755);
  const link = join(directory, "..data");
  const current = lstatSync(link, { throwIfNoEntry: false }) ? readlinkSync(link) : undefined;
  const share = new EventLoopShare(filesAtOnce);
  if (current !== undefined && (await same(join(directory, current), files, share))) return;
  let generation = current === undefined ? 1 : Number(current.replace("..", "")) + 1;
  // A killed agent may have been making it, or removing it.
  while (existsSync(join(directory, `..${generation}`))) generation++;
  const next = join(directory, `..${generation}`);
  mkdirSync(next, { mode: 0o755 });
  for (const { path, content, mode, user } of files) {
    const file = join(next, path);
    makeFolderSync(dirname(file), 0o755);
    writeFileSync(file, content);
    chmodSync(file, mode);
    if (user !== undefined) chownSync(file, user, -1);
    await share.step();
  }
  if (group !== undefined) {
    await giveToGroup(next, { group, readOnly: true, onRootMismatch: false });
    chownSync(directory, -1, group);
  }
  const temporary = join(directory, "..data_tmp");
  rmSync(temporary, { force: true });
  symlinkSync(`..${generation}`, temporary);
  renameSync(temporary, link);
  const names = new Set(files.map(({ path }) => path.split("/")[0] ?? path));
  for (const name of names) {
    if (lstatSync(join(directory, name), { throwIfNoEntry: false }) === undefined)
      symlinkSync(join("..data", name), join(directory, name));
    await share.step();
  }
  for (const name of readdirSync(directory)) {
    if (name.startsWith("..") ? isGeneration(name) && name !== `..${generation}` : !names.has(name))
      await removeFolder(join(directory, name));
    await share.step();
  }
}

const isGeneration = (name: string): boolean => /^\.\.\d+$/.test(name);

/** Files that are written or compared at a time. */
const filesAtOnce = 200;

/** Throws for a path that leaves the volume, or has one of its reserved names. Upstream: validatePath. */
function checkPath(path: string): void {
  if (normalize(path) !== path || path.startsWith("/") || path.split("/").includes(".."))
    throw new Error(`path ${JSON.stringify(path)} must be relative and must not contain ".."`);
  if (path.startsWith("..")) throw new Error(`path ${JSON.stringify(path)} must not begin with ".."`);
}

async function same(
  directory: string,
  files: readonly VolumeFile[],
  share: EventLoopShare,
): Promise<boolean> {
  if (!existsSync(directory)) return false;
  const there = readdirSync(directory, { recursive: true, withFileTypes: true }).filter(
    (e) => !e.isDirectory(),
  );
  if (there.length !== files.length) return false;
  for (const { path, content } of files) {
    const file = join(directory, path);
    const stat = lstatSync(file, { throwIfNoEntry: false });
    // Without mount name spaces the pod can write here, and may have replaced a file by a pipe.
    if (!stat?.isFile() || stat.size !== content.length || !readFileSync(file).equals(content)) return false;
    await share.step();
  }
  return true;
}
