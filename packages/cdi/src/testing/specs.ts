/** Specs and folders for the tests. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import type { ContainerEdits } from "../index.ts";

const root = temporaryFolder({ after });
let folders = 0;
/** Makes an empty folder that is removed after the tests of the file. */
export function folder(): string {
  const path = join(root, String(folders++));
  mkdirSync(path);
  return path;
}

export const env = (value: string): ContainerEdits => ({ env: [value] });
export const spec = (over: object = {}) => ({
  cdiVersion: "1.1.0",
  kind: "vendor.com/gpu",
  devices: [{ name: "gpu-0", containerEdits: env("A=1") }],
  ...over,
});
export const device = (over: object) =>
  spec({ devices: [{ name: "gpu-0", containerEdits: env("A=1"), ...over }] });
export const edits = (containerEdits: object) => spec({ containerEdits });
