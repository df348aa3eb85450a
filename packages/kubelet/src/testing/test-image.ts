import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Debian's busybox-static; undefined if it is missing. */
const busybox = ["/bin/busybox", "/usr/bin/busybox"].find((path) => existsSync(path));

/** Why no image can be made here; undefined if one can. */
export const withoutImage = busybox === undefined ? "busybox is missing (Debian: busybox-static)" : undefined;

/** An image in OCI layout, with its configuration. */
export interface TestImage {
  /** `localhost/name:tag`. */
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Writes a tar in OCI layout that contains busybox under each of the names. */
export function writeImages(tar: string, images: readonly TestImage[]): void {
  const work = mkdtempSync(join(tmpdir(), "dray-image-"));
  try {
    const root = join(work, "root");
    const layout = join(work, "layout");
    const blobs = join(layout, "blobs/sha256");
    for (const folder of ["bin", "etc", "tmp", "proc", "sys", "dev", "root"]) {
      mkdirSync(join(root, folder), { recursive: true });
    }
    mkdirSync(blobs, { recursive: true });
    copyFileSync(busybox ?? "", join(root, "bin/busybox"));
    for (const applet of execFileSync(busybox ?? "", ["--list"], { encoding: "utf8" })
      .trim()
      .split("\n")) {
      if (applet !== "busybox") symlinkSync("busybox", join(root, "bin", applet));
    }
    writeFileSync(join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nuser:x:1234:1234::/:/bin/sh\n");
    writeFileSync(join(root, "etc/group"), "root:x:0:\nuser:x:1234:\n");
    const pack = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-cf", "-", "."];
    const layerTar = execFileSync("tar", ["-C", root, ...pack], { maxBuffer: 64 << 20 });
    const blob = (bytes: Buffer) => {
      const hex = createHash("sha256").update(bytes).digest("hex");
      writeFileSync(join(blobs, hex), bytes);
      return { digest: `sha256:${hex}`, size: bytes.length };
    };
    const json = (value: unknown) => blob(Buffer.from(JSON.stringify(value)));
    const layer = { mediaType: "application/vnd.oci.image.layer.v1.tar", ...blob(layerTar) };
    const platform = { architecture: process.arch === "x64" ? "amd64" : process.arch, os: "linux" };
    const manifests = images.map(({ name, config }) => {
      const rootfs = { type: "layers", diff_ids: [layer.digest] };
      const image = json({ ...platform, config: { Env: ["PATH=/bin"], ...config }, rootfs });
      const mediaType = "application/vnd.oci.image.manifest.v1+json";
      const manifest = json({
        schemaVersion: 2,
        mediaType,
        config: { mediaType: "application/vnd.oci.image.config.v1+json", ...image },
        layers: [layer],
      });
      return { mediaType, ...manifest, platform, annotations: { "io.containerd.image.name": name } };
    });
    writeFileSync(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
    writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    writeFileSync(tar, execFileSync("tar", ["-C", layout, "-cf", "-", "."], { maxBuffer: 64 << 20 }));
  } finally {
    rmSync(work, { recursive: true });
  }
}
