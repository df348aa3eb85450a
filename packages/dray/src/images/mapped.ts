import { readFileSync, type Stats, statSync } from "node:fs";
import type { Log } from "@dray/client";
import { writeFileAtomicallySync } from "@dray/files";
import type { ImageMapping } from "@dray/kubelet";

/** A row of `dray image map`. */
export interface MappedImage {
  readonly pattern: string;
  readonly command: readonly string[];
  readonly user?: { readonly uid: number; readonly gid: number };
}

/**
 * Reads the rows in the file of a cluster, the latest first. Throws an error that names the file if it is
 * damaged.
 */
export function readMappedImages(path: string): readonly MappedImage[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    const rows: unknown = JSON.parse(text);
    if (!Array.isArray(rows) || !rows.every(isRow))
      throw new Error(
        'it must be a list of {"pattern": TEXT, "command": [TEXT, ...], "user": {"uid": NUMBER, "gid": NUMBER}}',
      );
    return rows;
  } catch (error) {
    throw new Error(
      `${path} is damaged: ${(error as Error).message}; delete it, and map the images again with \`dray image map\``,
    );
  }
}

function isRow(row: unknown): row is MappedImage {
  const { pattern, command, user } = (row ?? {}) as Partial<Record<keyof MappedImage, unknown>>;
  return (
    typeof pattern === "string" &&
    Array.isArray(command) &&
    command.length > 0 &&
    command.every((word) => typeof word === "string") &&
    (user === undefined || isUser(user))
  );
}

function isUser(user: unknown): boolean {
  const { uid, gid } = (user ?? {}) as { readonly uid?: unknown; readonly gid?: unknown };
  return typeof uid === "number" && typeof gid === "number";
}

export function writeMappedImages(path: string, rows: readonly MappedImage[]): void {
  writeFileAtomicallySync(path, `${JSON.stringify(rows, null, 2)}\n`);
}

/**
 * Returns a function that reads the current rows of the file; if the file is damaged, it returns the previous
 * rows and logs a warning.
 */
export function followMappedImages(path: string, log: Log): () => readonly ImageMapping[] {
  let rows: readonly MappedImage[] = [];
  let seen: string | undefined;
  return () => {
    const version = versionOf(statSync(path, { throwIfNoEntry: false }));
    if (version !== seen) {
      seen = version;
      try {
        rows = readMappedImages(path);
      } catch (error) {
        log.warn({ err: error, path }, "the mapped images cannot be read: the previous ones stay");
      }
    }
    return rows;
  };
}

/** Changes with each replacement of the file. */
function versionOf(stat: Stats | undefined): string {
  return stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}
