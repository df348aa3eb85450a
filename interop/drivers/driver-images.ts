/** Images of drivers, made of programs that `interop/build` has built and programs of this machine. */
import { cpSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  baseConfig,
  type Descriptor,
  install,
  installProgram,
  type Layout,
  makeLayout,
} from "../suites/image-layout.ts";

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
  makeLayout(folder, ({ layout, base, scratch }) => {
    for (const [index, image] of images.entries()) {
      const { name, command } = image;
      const layers = [base, ...imageLayer(image, join(scratch, `${index}`), layout)];
      layout.image(layers, { ...baseConfig, ...(command && { Cmd: command }) }, [name]);
    }
  });
  return folder;
}

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
