import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  openSync,
  readdirSync,
  type Stats,
  statSync,
} from "node:fs";
import type { Pod } from "@dray/api/core/v1";
import { EventLoopShare } from "../base/event-loop-share.ts";

const setgid = 0o2000;

/** The group that owns the pod's volumes, if it names one. */
export function fsGroupOf({ spec }: Pod): number | undefined {
  const { fsGroup } = spec.securityContext ?? {};
  return fsGroup === undefined ? undefined : Number(fsGroup);
}

/**
 * The user of all containers of the pod, who owns its tokens; undefined if they differ.
 *
 * Upstream: pkg/volume/util/util.go, FsUserFrom.
 */
export function fsUserOf({ spec }: Pod): number | undefined {
  const all = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const users = new Set(
    all.map(({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser),
  );
  const [user] = users;
  return users.size === 1 && user !== undefined ? Number(user) : undefined;
}

/**
 * True if containers of the pod run as the user that the runtime substitutes for root of an image. Root
 * itself, if another container requests it, may lack the right to read files of others.
 */
export function takesUserOfRuntime({ spec }: Pod): boolean {
  const all = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const users = all.map(
    ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
  );
  return users.includes(undefined) && !users.some((user) => user !== undefined && Number(user) === 0);
}

export interface Ownership {
  readonly group: number;
  /** The pod mounts it read-only. */
  readonly readOnly: boolean;
  /** Skips a folder that is already as it should be (`fsGroupChangePolicy: OnRootMismatch`). */
  readonly onRootMismatch: boolean;
}

/**
 * Gives a volume to a group, which may read it, and write it unless it is read-only; new files inherit the
 * group. Does not follow links, even if they are exchanged meanwhile. Throws the system's error.
 *
 * Upstream: pkg/volume/volume_linux.go, ChangePermissions.
 */
export async function giveToGroup(
  path: string,
  { group, readOnly, onRootMismatch }: Ownership,
): Promise<void> {
  const bits = readOnly ? 0o440 : 0o660;
  if (onRootMismatch && fits(statSync(path), group, bits | 0o110 | setgid)) return;
  await new Change(group, bits).make(path, lstatSync(path), 0);
}

function fits(stat: Stats, group: number, bits: number): boolean {
  return stat.gid === group && stat.isDirectory() && (stat.mode & bits) === bits;
}

/** Files that are changed at a time. */
const filesAtOnce = 200;
/** Maximum depth: each level takes a file descriptor. */
const maxDepth = 1000;

class Change {
  readonly #group: number;
  readonly #bits: number;
  readonly #share = new EventLoopShare(filesAtOnce);

  constructor(group: number, bits: number) {
    this.#group = group;
    this.#bits = bits;
  }

  async make(path: string, stat: Stats, depth: number): Promise<void> {
    if (!stat.isDirectory() && !stat.isFile()) {
      lchownSync(path, -1, this.#group);
      return;
    }
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const opened = fstatSync(file);
      const isFolder = opened.isDirectory();
      // A path by file descriptor stays the same folder, whatever replaces it.
      const here = process.platform === "linux" ? `/proc/self/fd/${file}` : path;
      if (isFolder && depth === maxDepth)
        throw new Error(`its folders are more than ${maxDepth} levels deep`);
      if (isFolder)
        for (const name of readdirSync(here)) {
          const entry = `${here}/${name}`;
          await this.#share.step();
          const found = lstatSync(entry, { throwIfNoEntry: false });
          if (found !== undefined) await this.make(entry, found, depth + 1);
        }
      fchownSync(file, -1, this.#group);
      fchmodSync(file, (opened.mode & 0o7777) | this.#bits | (isFolder ? 0o110 | setgid : 0));
    } finally {
      closeSync(file);
    }
  }
}
