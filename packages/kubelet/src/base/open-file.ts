import { closeSync, constants, fstatSync, openSync } from "node:fs";

/** Opens a file that a pod may have put something else in the place of: links and pipes are neither followed nor waited for. */
export function openFile(path: string): number {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error(`${path} is not a regular file`);
}
