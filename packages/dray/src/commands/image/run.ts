import { type ClusterConfig, type Layout, readConfig } from "@dray/cluster";
import { builtInImages } from "../../images/built-in.ts";
import { type MappedImage, readMappedImages, writeMappedImages } from "../../images/mapped.ts";
import { checkFolder, parseCommand, parseImageMapping, parseUser } from "../../images/mapping.ts";
import { ociImagesDir } from "../../options/runtime.ts";
import { noCluster, type TargetFlags, target } from "../../options/target.ts";
import { UsageError } from "../../terminal/failure.ts";
import { printData } from "../../terminal/print-data.ts";
import { tableFormat } from "../../terminal/print-text.ts";
import { say } from "../../terminal/verbosity.ts";
import { shellWord } from "../../text/shell.ts";
import { table } from "../../text/table.ts";

/** The origin of a row of the table. */
type Source = "image map" | "--image" | "built in";

/** A row as `image list` prints it. */
interface Row {
  readonly pattern: string;
  /** Replaces the program of the image and the pod's `command`. */
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  readonly user?: MappedImage["user"];
  readonly source: Source;
}

export interface ImageMapOptions extends TargetFlags {
  readonly user?: string;
}

/** Makes containers of images that match `pattern` run `command` from now on. */
export function imageMap(pattern: string, command: string, flags: ImageMapOptions): void {
  checkPattern(pattern);
  const words = parseCommand(command);
  if (words === undefined)
    throw new UsageError(
      `${JSON.stringify(command)}: must be a command with closed quotes, as in '/usr/bin/tool --flag'`,
    );
  checkFolder(words);
  const user = flags.user === undefined ? undefined : parseUser(flags.user);
  const { imagesFile } = mapping(flags);
  const others = readMappedImages(imagesFile).filter((row) => row.pattern !== pattern);
  writeMappedImages(imagesFile, [{ pattern, command: words, ...(user && { user }) }, ...others]);
  const asUser = flags.user === undefined ? "" : ` as user ${flags.user}`;
  say(`images that match ${pattern} run ${words.map(shellWord).join(" ")}${asUser}\n`);
}

/** Removes the mapping of `pattern`. */
export function imageUnmap(pattern: string, flags: TargetFlags): void {
  const { imagesFile } = mapping(flags);
  const rows = readMappedImages(imagesFile);
  const others = rows.filter((row) => row.pattern !== pattern);
  if (others.length === rows.length) {
    const known = rows.map((row) => row.pattern);
    const which = known.length === 0 ? "no image is mapped" : `mapped are ${known.join(", ")}`;
    throw new Error(`no row for ${pattern}: ${which}; \`dray image list\` shows the whole table`);
  }
  writeMappedImages(imagesFile, others);
  say(`${pattern} is not mapped any more\n`);
}

/** Prints the table in the order of the search, or the loaded images. */
export async function imageList(flags: TargetFlags & { readonly output?: "json" | "yaml" }): Promise<void> {
  const { layout, config } = existing(flags);
  if (config.runtime === "oci") return listStored(layout.ociDir, flags.output);
  const { imagesFile, images } = mapping(flags);
  const from =
    (source: Source) =>
    ({ needs: _, ...row }: ReturnType<typeof parseImageMapping>): Row => ({ ...row, source });
  const rows = [
    ...readMappedImages(imagesFile).map(from("image map")),
    ...images.map(parseImageMapping).map(from("--image")),
    ...builtInImages().map(from("built in")),
  ];
  if (flags.output !== undefined) return printData(rows, flags.output);
  const hasUsers = rows.some(({ user }) => user !== undefined);
  const lines = rows.map(({ pattern, command, entrypoint = [], cmd = [], user, source }) => {
    const words = (command ?? [...entrypoint, ...cmd]).map(shellWord).join(" ");
    const shown = user === undefined ? "" : `${user.uid}:${user.gid}`;
    return [pattern, source, ...(hasUsers ? [shown] : []), words];
  });
  const titles = [
    { title: "PATTERN", wraps: true },
    "SOURCE",
    ...(hasUsers ? ["USER"] : []),
    { title: "COMMAND", wraps: true },
  ];
  process.stdout.write(table(titles, lines, tableFormat({})));
}

async function listStored(ociDir: string, output: "json" | "yaml" | undefined): Promise<void> {
  const store = await openImages(ociDir);
  try {
    const images = await store.listImages();
    if (output !== undefined) return printData(images, output);
    const lines = images.flatMap(({ tags, digests, ref, sizeBytes }) =>
      (tags.length > 0 ? tags : digests.length > 0 ? digests : [ref]).map((name) => [
        name,
        `${(sizeBytes / 2 ** 20).toFixed(1)} MiB`,
      ]),
    );
    process.stdout.write(table([{ title: "IMAGE", wraps: true }, "SIZE"], lines.sort(), tableFormat({})));
  } finally {
    store.close();
  }
}

/** The flags that select a store of images. */
export interface ImageStoreFlags extends TargetFlags {
  readonly ociDir?: string;
}

export interface ImageLoadOptions extends ImageStoreFlags {
  readonly as?: string;
}

/** Loads the images of a file or folder for nodes that run real containers. */
export async function imageLoad(path: string, options: ImageLoadOptions): Promise<void> {
  const images = await openImages(options.ociDir ?? clusterOciDir(options));
  try {
    const name = options.as === undefined ? {} : { name: options.as };
    for (const { digest, references } of await images.importImages(path, name))
      say(`${references.length === 0 ? "an image without a name" : references.join(", ")}: ${digest}\n`);
  } finally {
    images.close();
  }
}

/** Removes images by name or digest. Goes on if one is missing, and fails in the end. */
export async function imageRemove(names: readonly string[], options: ImageStoreFlags): Promise<void> {
  const images = await openImages(options.ociDir ?? clusterOciDir(options));
  const missing: string[] = [];
  try {
    for (const name of names) {
      const removed = await images.removeName(name);
      if (removed === undefined) missing.push(name);
      else say(`${removed.join(", ")} removed; containers that run keep their files\n`);
    }
  } finally {
    images.close();
  }
  if (missing.length > 0)
    throw new Error(`no such image: ${missing.join(", ")}; \`dray image list\` shows those that are there`);
}

async function openImages(ociDir: string) {
  const { OciImages } = await import("@dray/kubelet");
  return OciImages.open({ directory: ociImagesDir(ociDir), now: Date.now });
}

/** Throws for a cluster without images. */
function clusterOciDir(flags: TargetFlags): string {
  const { layout, config } = existing(flags);
  if (config.runtime === "oci") return layout.ociDir;
  throw new Error(
    config.runtime === "host"
      ? `the nodes of the cluster in ${layout.dataDir} run commands of this machine (--runtime host) and take no images: \`dray image map\` says which command stands for an image, \`dray image unmap\` removes a row`
      : `the nodes of the cluster in ${layout.dataDir} take images from ${config.runtime}: load the image there, as with \`ctr -n k8s.io images import\``,
  );
}

function checkPattern(pattern: string): void {
  if (pattern === "" || /[\s=]/.test(pattern))
    throw new UsageError(
      `${JSON.stringify(pattern)}: must be an image reference without blanks and "=", in which * stands for any ` +
        "characters, as in 'example.com/tool:*'",
    );
}

/** Returns the table of a cluster. Throws if its nodes run the programs of images. */
function mapping(flags: TargetFlags): { readonly imagesFile: string; readonly images: readonly string[] } {
  const { layout, config } = existing(flags);
  if (config.runtime === "host") return { imagesFile: layout.imagesFile, images: config.images };
  throw new Error(
    `the nodes of the cluster in ${layout.dataDir} run the programs of images (--runtime ${config.runtime}): commands stand for images only with --runtime host`,
  );
}

function existing(flags: TargetFlags): { readonly layout: Layout; readonly config: ClusterConfig } {
  const { layout } = target(flags);
  const config = readConfig(layout);
  if (config === undefined) throw noCluster(layout);
  return { layout, config };
}
