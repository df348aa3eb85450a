import { type Image, type ImageService, RuntimeError } from "../service.ts";

/** One line of the table from images to commands of the machine. */
export interface ImageMapping {
  /** An image reference in which `*` stands for any characters. */
  readonly pattern: string;
  /** Runs in place of the image's program; the pod's `args` follow it. */
  readonly command: readonly string[];
}

/**
 * The host runtime pulls no images: a mapped image stands for a command of the machine, any other image runs the
 * command that its pod names.
 */
export class ImageTable implements ImageService {
  readonly pulls = false;
  readonly #rows: readonly { readonly pattern: RegExp; readonly command: readonly string[] }[];

  /** The first mapping that matches counts. */
  constructor(mappings: readonly ImageMapping[]) {
    this.#rows = mappings.map(({ pattern, command }) => ({ pattern: glob(pattern), command }));
  }

  /** The mapped command, if there is one. */
  command(image: string): readonly string[] | undefined {
    return this.#rows.find((row) => row.pattern.test(image))?.command;
  }

  async imageStatus(image: string, hasCommand: boolean): Promise<Image | undefined> {
    if (image === "" || /\s/.test(image))
      throw new RuntimeError("InvalidImageName", `image ${JSON.stringify(image)} is not a valid reference`);
    if (!hasCommand && this.command(image) === undefined) return undefined;
    return { ref: `host://${image}`, tags: [image], digests: [], sizeBytes: 0 };
  }

  async pullImage(image: string): Promise<string> {
    throw new RuntimeError(
      "ErrImageNeverPull",
      `image "${image}" is not pulled on this runtime, which runs commands of the host: give the container a ` +
        `command, or map the image to one with --image '${image}=COMMAND'`,
    );
  }

  /** None is here: what images stand for is on the machine. */
  async listImages(): Promise<readonly Image[]> {
    return [];
  }

  async removeImage(): Promise<void> {}
}

function glob(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
