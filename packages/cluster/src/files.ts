import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export interface NewFile {
  readonly path: string;
  readonly text: string;
  /** As in open(2); 0o600 if absent. */
  readonly mode?: number;
}

/**
 * Writes files, each of which is there whole or not at all, whatever happens, and none before those that stand before it.
 * Their folders are made.
 */
export function writeFilesAtomic(files: readonly NewFile[]): void {
  const written: { readonly file: number; readonly temporary: string; readonly path: string }[] = [];
  try {
    for (const { path, text, mode = 0o600 } of files) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      const temporary = `${path}.${process.pid}.tmp`;
      const file = openSync(temporary, "w", mode);
      written.push({ file, temporary, path });
      writeSync(file, text);
    }
    // The first waits for the disk, and the disk then has most of the others, too.
    for (const { file } of written) fsyncSync(file);
  } finally {
    for (const { file } of written) closeSync(file);
  }
  for (const { temporary, path } of written) renameSync(temporary, path);
}

/** Writes a file that is there whole or not at all, whatever happens. Its folder is made; `mode` as in open(2). */
export function writeFileAtomic(path: string, text: string, mode = 0o600): void {
  writeFilesAtomic([{ path, text, mode }]);
}
