import { closeSync, constants, fstatSync, openSync } from "node:fs";

/** Opens a regular file that a pod can replace: does not follow links, and does not wait for pipes. */
export function openFile(path: string): number {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error(`${path} is not a regular file`);
}
