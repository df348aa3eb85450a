import { createHash, randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readlinkSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { open, readdir, readlink, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { withPath } from "./error.ts";
import { makeFolder, makeFolderSync } from "./folder.ts";

export interface WriteOptions {
  /** Permission bits, before the umask; default: 0o600. */
  readonly mode?: number;
  /**
   * If set, missing folders are created with these permission bits, as `mkdir -p` does (the umask applies).
   */
  readonly folderMode?: number;
  /** If `path` is a symbolic link, replaces its target; default: replaces the link itself. */
  readonly followLink?: boolean;
  /**
   * False: does not wait for the disk. Readers still see the old or the new file, but after a power failure
   * it may be missing or empty. For files without a meaning after a reboot.
   */
  readonly durable?: boolean;
}

export interface NewFile extends WriteOptions {
  readonly path: string;
  readonly data: string | Uint8Array;
}

/**
 * Replaces a file in one step: readers see the old or the new content, never a part. Once it resolves, the
 * content survives a power failure. If it rejects, no temporary file is left, and the old file remains unless
 * the very last step, the sync of the folder, failed. The last of concurrent writers of the same path wins.
 *
 * The error names the path and keeps the system's `code`.
 */
export async function writeFileAtomically(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions = {},
): Promise<void> {
  try {
    const target = options.followLink ? await followLinks(path) : path;
    const folder = dirname(resolve(target));
    if (options.folderMode !== undefined) {
      const first = await makeFolder(folder, options.folderMode);
      if (options.durable !== false) for (const made of parentsToSync(first, folder)) await syncFolder(made);
    }
    const temporary = temporaryName(target);
    try {
      const file = await open(temporary, "wx", options.mode ?? 0o600);
      try {
        await file.writeFile(data);
        if (options.durable !== false) await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, target);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    if (options.durable !== false) await syncFolder(folder);
  } catch (error) {
    throw withPath(`cannot write ${path}`, error);
  }
}

/** Synchronous `writeFileAtomically`. */
export function writeFileAtomicallySync(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions = {},
): void {
  writeFilesAtomicallySync([{ ...options, path, data }]);
}

/** Maximum number of open files. */
const maxOpen = 64;

/**
 * Replaces files, each in one step and in the given order: a file never exists without those before it. The
 * files share their waits for the disk.
 */
export function writeFilesAtomicallySync(files: readonly NewFile[]): void {
  for (let start = 0; start < files.length; start += maxOpen) writeRound(files.slice(start, start + maxOpen));
}

interface Draft {
  readonly descriptor: number;
  readonly temporary: string;
  readonly target: string;
  readonly folder: string;
  readonly durable: boolean;
}

function writeRound(files: readonly NewFile[]): void {
  const drafts: Draft[] = [];
  let current = files[0]?.path;
  try {
    try {
      for (const file of files) {
        current = file.path;
        openDraft(file, drafts);
      }
      // The first sync waits for the disk, which has written most of the other files by then, too.
      for (const [i, { descriptor, durable }] of drafts.entries()) {
        current = files[i]?.path;
        if (durable) fsyncSync(descriptor);
      }
    } finally {
      for (const { descriptor } of drafts) closeSync(descriptor);
    }
    let unsynced: string | undefined;
    for (const [i, { temporary, target, folder, durable }] of drafts.entries()) {
      current = files[i]?.path;
      if (unsynced !== undefined && unsynced !== folder) syncFolderSync(unsynced);
      renameSync(temporary, target);
      unsynced = durable ? folder : undefined;
    }
    if (unsynced !== undefined) syncFolderSync(unsynced);
  } catch (error) {
    for (const { temporary } of drafts) rmSync(temporary, { force: true });
    throw withPath(`cannot write ${current}`, error);
  }
}

/** Adds to `drafts` as soon as there is a file to clean up. */
function openDraft(file: NewFile, drafts: Draft[]): void {
  const { path, data, mode = 0o600, folderMode, followLink, durable = true } = file;
  const target = followLink ? followLinksSync(path) : path;
  const folder = dirname(resolve(target));
  if (folderMode !== undefined) {
    const first = makeFolderSync(folder, folderMode);
    if (durable) for (const made of parentsToSync(first, folder)) syncFolderSync(made);
  }
  const temporary = temporaryName(target);
  const descriptor = openSync(temporary, "wx", mode);
  drafts.push({ descriptor, temporary, target, folder, durable });
  // Unlike writeSync, continues after a short write, so that a full disk is an error.
  writeFileSync(descriptor, data);
}

/**
 * Removes a file and the temporary ones of killed writers. Succeeds if it does not exist. Must not run while
 * another process writes the file.
 */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  const folder = dirname(resolve(path));
  const names = await readdir(folder).catch(() => []);
  const start = temporaryStart(path);
  const left = names.filter((name) => name.startsWith(start) && name.endsWith(temporaryEnd));
  await Promise.all(left.map((name) => rm(join(folder, name), { force: true })));
}

/**
 * Moves a file or folder within a file system, over an existing file. Once it resolves, the move survives a
 * power failure; the content does if it was synced before.
 */
export async function moveFile(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
    await syncFolder(dirname(resolve(to)));
  } catch (error) {
    throw withPath(`cannot move ${from} to ${to}`, error);
  }
}

/** Readers of CDI specs and of checkpoints ignore such files. */
const temporaryEnd = ".tmp";

function temporaryName(target: string): string {
  return join(
    dirname(resolve(target)),
    `${temporaryStart(target)}${randomBytes(8).toString("hex")}${temporaryEnd}`,
  );
}

/** Equal for all writers of a file, and short even for long file names. */
function temporaryStart(target: string): string {
  return `.${createHash("sha256").update(basename(target)).digest("hex").slice(0, 8)}-`;
}

/** Returns the folders whose entries changed when the folders from `first` to `last` were created. */
function parentsToSync(first: string | undefined, last: string): string[] {
  const folders: string[] = [];
  if (first === undefined) return folders;
  const top = dirname(resolve(first));
  for (let folder = last; folder !== top && folder !== dirname(folder); ) {
    folder = dirname(folder);
    folders.push(folder);
  }
  return folders;
}

/** Linux's limit. */
const maxLinks = 40;

/** Unlike realpath, accepts a link to a file that does not exist yet. */
async function followLinks(path: string): Promise<string> {
  let target = path;
  for (let n = 0; n < maxLinks; n++) {
    try {
      target = resolve(dirname(target), await readlink(target));
    } catch (error) {
      if (isNoLink(error)) return target;
      throw error;
    }
  }
  throw new Error("too many symbolic links");
}

/** Resolves symbolic links in the last part of the path. Unlike realpath, accepts a missing target. */
export function followLinksSync(path: string): string {
  let target = path;
  for (let n = 0; n < maxLinks; n++) {
    try {
      target = resolve(dirname(target), readlinkSync(target));
    } catch (error) {
      if (isNoLink(error)) return target;
      throw error;
    }
  }
  throw new Error("too many symbolic links");
}

/** The file is not a link (UNKNOWN on Windows), or does not exist. */
function isNoLink(error: unknown): boolean {
  return ["EINVAL", "ENOENT", "UNKNOWN"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/**
 * Errors of systems on which a folder cannot or need not be synced: Windows opens no folders, some network
 * file systems return EINVAL, and a folder without read permission cannot be opened.
 */
const cannotSync = new Set(["EINVAL", "ENOTSUP", "EISDIR", "EPERM", "EACCES", "EBADF"]);

async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (!cannotSync.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

function syncFolderSync(folder: string): void {
  try {
    const descriptor = openSync(folder, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (!cannotSync.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
