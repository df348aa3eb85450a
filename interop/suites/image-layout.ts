/** OCI image layouts, and a small root file system of programs of this machine. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { output } from "./commands.ts";

/** Programs of this machine that images are made of. */
export const imagePrograms = ["busybox", "bash", "tar", "ldd"] as const;

/**
 * A small root file system. Its sh is bash: busybox's drops environment variables whose names a shell cannot
 * have.
 */
function makeBase(root: string): void {
  for (const folder of [
    "bin",
    "usr/bin",
    "etc",
    "root",
    "home",
    "proc",
    "sys",
    "dev",
    "tmp",
    "var/run",
    "run",
  ])
    mkdirSync(join(root, folder), { recursive: true });
  chmodSync(join(root, "tmp"), 0o1777);
  writeFileSync(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\n",
  );
  writeFileSync(
    join(root, "etc/group"),
    "root:x:0:\nnogroup:x:65534:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n",
  );
  // A spec reads it; upstream's images are Alpine.
  writeFileSync(join(root, "etc/os-release"), 'NAME="Alpine Linux"\n');
  writeFileSync(join(root, "etc/nsswitch.conf"), "hosts: files dns\n");
  const busybox = install(root, "busybox");
  for (const applet of output(busybox, ["--list"]).split("\n"))
    if (applet !== "sh" && applet !== "busybox") symlinkSync("busybox", join(root, "bin", applet));
  install(root, "bash");
  symlinkSync("bash", join(root, "bin/sh"));
  symlinkSync("/bin/env", join(root, "usr/bin/env"));
}

/**
 * Copies a program of this machine, and the libraries it is linked with, into `root`. Returns its path here.
 */
export function install(root: string, name: string): string {
  const path = output("sh", ["-c", `command -v ${name}`]);
  installProgram(root, path, join("bin", name));
  return path;
}

/** Copies a program, and the libraries it is linked with, into `root`. */
export function installProgram(root: string, path: string, target: string): void {
  const copy = join(root, target);
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(path, copy);
  // Of a static program ldd says on standard error that it is not a dynamic one, and fails.
  const { stdout } = spawnSync("ldd", [path], { encoding: "utf8" });
  for (const [library] of stdout.matchAll(/\/\S+/g)) {
    if (library === `${path}:` || existsSync(join(root, library))) continue;
    mkdirSync(join(root, dirname(library)), { recursive: true });
    copyFileSync(library, join(root, library));
  }
}

/** Part of the configuration of every image. */
export const baseConfig = {
  Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  WorkingDir: "/",
} as const;

/** A layout that images are added to. */
export interface OpenLayout {
  readonly layout: Layout;
  /** The layer of `makeBase`. */
  readonly base: Descriptor;
  /** A folder for files of layers, which is removed afterwards. */
  readonly scratch: string;
}

/** Creates an OCI layout in a folder, with the layer of `makeBase`; `add` adds images to it. */
export function makeLayout(folder: string, add: (open: OpenLayout) => void): void {
  const scratch = mkdtempSync(join(tmpdir(), "dray-images-"));
  try {
    const layout = new Layout(folder);
    const root = join(scratch, "base");
    makeBase(root);
    add({ layout, base: layout.layer(root), scratch });
    layout.close();
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** https://github.com/opencontainers/image-spec/blob/main/descriptor.md */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** An OCI image layout. https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
export class Layout {
  readonly #folder: string;
  readonly #manifests: object[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(join(folder, "blobs/sha256"), { recursive: true });
  }

  #blob(content: Buffer | string, mediaType: string): Descriptor {
    const digest = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(this.#folder, "blobs/sha256", digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  }

  layer(root: string): Descriptor {
    const file = join(this.#folder, "layer");
    output("tar", ["--owner=0", "--group=0", "--numeric-owner", "-C", root, "-cf", file, "."]);
    const layer = this.#blob(readFileSync(file), "application/vnd.oci.image.layer.v1.tar");
    rmSync(file);
    return layer;
  }

  read(digest: string): Buffer {
    return readFileSync(join(this.#folder, "blobs", digest.replace(":", "/")));
  }

  /** Returns its manifest, configuration and layers. */
  image(layers: readonly Descriptor[], config: object, names: readonly string[]): readonly Descriptor[] {
    const diffIds = layers.map(({ digest }) => digest); // Layers are not compressed.
    const architecture = process.arch === "x64" ? "amd64" : process.arch;
    const platform = { architecture, os: "linux" };
    const text = JSON.stringify({ ...platform, config, rootfs: { type: "layers", diff_ids: diffIds } });
    const mediaType = "application/vnd.oci.image.manifest.v1+json";
    const configBlob = this.#blob(text, "application/vnd.oci.image.config.v1+json");
    const manifest = this.#blob(
      JSON.stringify({ schemaVersion: 2, mediaType, config: configBlob, layers }),
      mediaType,
    );
    for (const name of names)
      this.#manifests.push({
        ...manifest,
        platform,
        annotations: { "io.containerd.image.name": name },
      });
    return [manifest, configBlob, ...layers];
  }

  /** Writes the index. */
  close(): void {
    const index = { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json" };
    writeFileSync(join(this.#folder, "index.json"), JSON.stringify({ ...index, manifests: this.#manifests }));
    writeFileSync(join(this.#folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  }
}

/** Packs an OCI layout into a tar file beside it, and returns its path. */
export function packLayout(layout: string): string {
  const file = `${layout}.tar`;
  output("tar", ["-C", layout, "-cf", file, "."]);
  return file;
}
