/** Images of drivers, made of programs that `interop/build` has built and programs of this machine. */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Descriptor, install, installProgram, Layout, makeBase } from "../suites/image-layout.ts";

export interface DriverImage {
  /** As manifests have it. */
  readonly name: string;
  /** Programs by their path in the image; they come with the libraries that they are linked with. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Programs of this machine, in /bin. */
  readonly tools?: readonly string[];
  /** Files and folders by their path in the image. */
  readonly files?: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
}

/** Makes the images in a folder that it creates, each on busybox and bash; returns the OCI layout. */
export function makeDriverImages(folder: string, images: readonly DriverImage[]): string {
  const scratch = mkdtempSync(join(tmpdir(), "dray-images-"));
  try {
    const layout = new Layout(folder);
    const base = join(scratch, "base");
    makeBase(base);
    const shared = layout.layer(base);
    for (const [index, image] of images.entries())
      layout.image([shared, ...imageLayer(image, join(scratch, `${index}`), layout)], configOf(image), [
        image.name,
      ]);
    layout.close();
    return folder;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const configOf = ({ command }: DriverImage): object => ({
  Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
  WorkingDir: "/",
  ...(command && { Cmd: command }),
});

/** The layer that an image adds to the shared one; empty if it adds none. */
function imageLayer(
  { programs = {}, tools = [], files = {} }: DriverImage,
  root: string,
  layout: Layout,
): Descriptor[] {
  if ([programs, tools, files].every((part) => Object.keys(part).length === 0)) return [];
  mkdirSync(root);
  for (const [path, program] of Object.entries(programs)) installProgram(root, program, path);
  for (const tool of tools) install(root, tool);
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    cpSync(source, join(root, path), { recursive: true });
  }
  return [layout.layer(root)];
}
