import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { type ImageStoreOptions, OciImages } from "../images/service.ts";
import type { LayerEntry } from "./image.ts";

export const file = (name: string, content = name): LayerEntry => ({ name, type: "file", content });

/** For an interceptor that has responded. */
export const answered = (_: unknown): true => true;

export function folder(t: TestContext): string {
  const path = temporaryFolder(t);
  return path;
}

export async function open(
  t: TestContext,
  directory: string,
  options: Partial<ImageStoreOptions> = {},
): Promise<OciImages> {
  const images = await OciImages.open({ directory, now: Date.now, retryDelay: 1, ...options });
  t.after(() => images.close());
  return images;
}

export const blobsOf = (directory: string): string[] => readdirSync(join(directory, "blobs/sha256"));
