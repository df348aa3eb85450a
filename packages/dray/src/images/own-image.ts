import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeFolderSync } from "@dray/files";
import { ownCommand, ownFiles } from "../process/own-command.ts";
import { type OwnImage, ownImageOf, smallHeap } from "./built-in.ts";

/**
 * Provides the images that this program implements to nodes that run real containers: each holds Node, its
 * libraries and the bundle, at their paths on this machine. Other images are pulled.
 */
export async function provideOwnImages(ociImages: string, names: readonly string[]): Promise<void> {
  const wanted = new Map<string, OwnImage>();
  for (const name of names) {
    const image = ownImageOf(name);
    if (image !== undefined) wanted.set(name, image);
  }
  if (wanted.size === 0) return;
  if (process.argv[1]!.endsWith(".ts"))
    throw new Error(
      `${[...wanted.keys()].join(", ")}: real containers get this program as a bundle, and it runs from its sources: start it as \`dray\``,
    );
  const folder = mkdtempSync(join(tmpdir(), "dray-image-"));
  try {
    writeLayout(folder, wanted);
    const { OciImages } = await import("@dray/kubelet");
    const images = await OciImages.open({ directory: ociImages, now: Date.now });
    try {
      await images.importImages(folder);
    } finally {
      images.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
function writeLayout(folder: string, wanted: ReadonlyMap<string, OwnImage>): void {
  const blobs = join(folder, "blobs/sha256");
  makeFolderSync(blobs);
  const add = (content: string | Buffer): { digest: string; size: number } => {
    const digest = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(blobs, digest), content);
    return { digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  };
  const layer = (root: string, paths: readonly string[]) => {
    const file = join(blobs, "layer");
    tar(file, root, paths);
    const blob = add(readFileSync(file));
    rmSync(file);
    return { mediaType: "application/vnd.oci.image.layer.v1.tar", ...blob };
  };
  const [node = "", ...code] = ownFiles();
  const machine = layer(
    "/",
    [node, ...libraries(node), ...code].map((path) => path.slice(1)),
  );
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const platform = { architecture, os: "linux" };
  const manifests = [...wanted].map(([name, own]) => {
    const root = join(folder, "root");
    for (const program of own.programs) writeProgram(join(root, "usr/local/bin", program), own.args);
    mkdirSync(join(root, "tmp"), { mode: 0o777 });
    const layers = [machine, layer(root, ["usr", "tmp"])];
    rmSync(root, { recursive: true });
    const [command, args] = ownCommand(own.args, smallHeap);
    const config = {
      Env: ["PATH=/usr/local/bin", `NODE_OPTIONS=${[...process.execArgv, ...smallHeap].join(" ")}`],
      Entrypoint: [command, ...args],
    };
    const rootfs = { type: "layers", diff_ids: layers.map(({ digest }) => digest) };
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const image = add(JSON.stringify({ ...platform, config, rootfs }));
    const manifest = add(
      JSON.stringify({
        schemaVersion: 2,
        mediaType,
        config: { mediaType: "application/vnd.oci.image.config.v1+json", ...image },
        layers,
      }),
    );
    return { mediaType, ...manifest, platform, annotations: { "io.containerd.image.name": name } };
  });
  writeFileSync(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(join(folder, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
}

/** Writes a program of the image: this one, with some arguments before its own. */
function writeProgram(path: string, args: readonly string[]): void {
  const main = process.argv[1]!;
  makeFolderSync(dirname(path));
  const words = [main, ...args].map((word) => JSON.stringify(word)).join(", ");
  const text = `#!${process.execPath}\nprocess.argv.splice(1, 1, ${words});\nimport(${JSON.stringify(main)});\n`;
  writeFileSync(path, text, { mode: 0o755 });
}

/** Returns the libraries that a program is linked with, including the loader; none for a static program. */
function libraries(program: string): string[] {
  const { stdout = "" } = spawnSync("ldd", [program], { encoding: "utf8" });
  return [...stdout.matchAll(/(?:=> |^\s*)(\/\S+) \(/gm)].map(([, path = ""]) => path);
}

/** Packs paths, following symbolic links. */
function tar(file: string, root: string, paths: readonly string[]): void {
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "--sort=name"];
  const { status, stderr, error } = spawnSync(
    "tar",
    ["-h", "--hard-dereference", ...owner, "-C", root, "-cf", file, ...paths],
    {
      encoding: "utf8",
    },
  );
  if (error !== undefined) throw new Error(`cannot run tar: ${error.message}`);
  if (status !== 0) throw new Error(`tar: ${stderr.trim()}`);
}
