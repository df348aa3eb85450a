import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { ownPlatform } from "../images/manifest.ts";
import { type TarHeader, tarEnd, tarHeader, tarPadding } from "../images/tar-write.ts";

/** An entry of a layer with its content. */
export type LayerEntry = TarHeader & { readonly content?: string | Buffer };

export function tarOf(entries: readonly LayerEntry[]): Buffer {
  return Buffer.concat([
    ...entries.flatMap(({ content = "", ...header }) => {
      const data = Buffer.from(content);
      return [tarHeader({ size: data.length, ...header }), data, tarPadding(data.length)];
    }),
    tarEnd,
  ]);
}

export const digestOf = (data: string | Buffer): string =>
  `sha256:${createHash("sha256").update(data).digest("hex")}`;

export interface TestImage {
  readonly manifest: string;
  readonly digest: string;
  readonly config: Record<string, unknown>;
  readonly diffIds: readonly string[];
  /** All blobs by digest, including the manifest. */
  readonly blobs: ReadonlyMap<string, Buffer>;
  /** Layers as in Docker's archive. */
  readonly layers: readonly Buffer[];
  readonly configText: string;
}

export function testImage(
  layers: readonly (readonly LayerEntry[])[],
  config: Record<string, unknown> = {},
  compress: "gzip" | "zstd" | "none" = "gzip",
  platform: Record<string, unknown> = { ...ownPlatform() },
): TestImage {
  const tars = layers.map(tarOf);
  const diffIds = tars.map(digestOf);
  const packed = tars.map((tar) =>
    compress === "gzip" ? gzipSync(tar) : compress === "zstd" ? zstdCompressSync(tar) : tar,
  );
  const configText = JSON.stringify({ ...platform, config, rootfs: { type: "layers", diff_ids: diffIds } });
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: {
      mediaType: "application/vnd.oci.image.config.v1+json",
      digest: digestOf(configText),
      size: Buffer.byteLength(configText),
    },
    layers: packed.map((data) => ({
      mediaType: "application/vnd.oci.image.layer.v1.tar",
      digest: digestOf(data),
      size: data.length,
    })),
  });
  const all = [...packed, Buffer.from(configText), Buffer.from(manifest)];
  return {
    manifest,
    digest: digestOf(manifest),
    config,
    diffIds,
    blobs: new Map(all.map((data) => [digestOf(data), data])),
    layers: tars,
    configText,
  };
}

/** Output of `docker save`. */
export function dockerArchive(image: TestImage, tags: readonly string[] | null): Buffer {
  const names = image.layers.map((_, i) => `layer${i}/layer.tar`);
  const config = `${digestOf(image.configText).slice(7)}.json`;
  return tarOf([
    ...image.layers.flatMap((content, i): LayerEntry[] => [
      { name: `layer${i}/`, type: "directory" },
      { name: `layer${i}/VERSION`, type: "file", content: "1.0" },
      { name: names[i]!, type: "file", content },
    ]),
    { name: config, type: "file", content: image.configText },
    {
      name: "manifest.json",
      type: "file",
      content: JSON.stringify([{ Config: config, RepoTags: tags, Layers: names }]),
    },
  ]);
}

/** Files of an OCI layout. */
export function layoutFiles(
  images: readonly {
    readonly image: TestImage;
    readonly annotations?: Record<string, string>;
    readonly platform?: object;
  }[],
): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>([
    ["oci-layout", Buffer.from('{"imageLayoutVersion":"1.0.0"}')],
    [
      "index.json",
      Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          manifests: images.map(({ image, annotations, platform }) => ({
            mediaType: "application/vnd.oci.image.manifest.v1+json",
            digest: image.digest,
            size: Buffer.byteLength(image.manifest),
            ...(annotations === undefined ? {} : { annotations }),
            ...(platform === undefined ? {} : { platform }),
          })),
        }),
      ),
    ],
  ]);
  for (const { image } of images)
    for (const [digest, data] of image.blobs) files.set(`blobs/sha256/${digest.slice(7)}`, data);
  return files;
}

export function writeFiles(folder: string, files: ReadonlyMap<string, Buffer>): void {
  for (const [name, data] of files) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), data);
  }
}

export function tarOfFiles(files: ReadonlyMap<string, Buffer>): Buffer {
  return tarOf([...files].map(([name, content]) => ({ name, type: "file", content })));
}
