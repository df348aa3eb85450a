import { resolve } from "node:path";
import type { ContainerConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import type { Image, ImageService } from "../images.ts";
import type { User } from "./privileges.ts";

/** Program of an image on this machine. */
export type ImageProgram =
  /**
   * Runs in place of the image's program and of the pod's `command`; the pod's `args` follow it. A single
   * word that ends with `/` is a folder of programs, see `programFolder`.
   */
  | { readonly command: readonly string[] }
  /** As in an image: the pod's `command` replaces both, its `args` replace `cmd`. */
  | { readonly entrypoint: readonly string[]; readonly cmd: readonly string[] };

/** An entry of the table from images to programs of the machine. */
export type ImageMapping = ImageProgram & {
  /** An image reference in which `*` stands for any characters. */
  readonly pattern: string;
  /** User of the program where the agent can change users; absent for one of each pod's own. */
  readonly user?: User;
  /** Files and folders that the program reads; containers of any user can read them. */
  readonly needs?: readonly string[];
};

/**
 * Folder of programs of an image, without a `/` at its end. It comes first in the PATH of containers, which
 * run the `command` of their pod: an image of a driver often has a program for each of its pods.
 */
export function programFolder(image: ImageProgram | undefined): string | undefined {
  if (image === undefined || !("command" in image) || image.command.length !== 1) return undefined;
  const [word = ""] = image.command;
  return word.startsWith("/") && word.endsWith("/") && word !== "/" ? resolve(word) : undefined;
}

/**
 * Command line of a container: `command` and `args` of its pod, and the program of its image.
 *
 * Upstream: "Define a Command and Arguments for a Container"; OCI image specification, Entrypoint and Cmd.
 */
export function containerWords(
  program: ImageProgram | undefined,
  { command, args }: Pick<ContainerConfig, "command" | "args">,
): readonly string[] {
  if (program === undefined || programFolder(program) !== undefined) return [...command, ...args];
  if ("command" in program) return [...program.command, ...args];
  if (command.length > 0) return [...command, ...args];
  return [...program.entrypoint, ...(args.length > 0 ? args : program.cmd)];
}

/** Patterns of an image in any registry, with any tag or digest. */
export function anyRegistry(repository: string): readonly string[] {
  return [repository, `*/${repository}`].flatMap((name) => [name, `${name}:*`, `${name}@*`]);
}

/**
 * Images of the host runtime, which pulls none: a mapped image stands for a program of the machine, any other
 * image runs the command of its pod.
 */
export class ImageTable implements ImageService {
  readonly pulls = false;
  readonly #mappings: () => readonly ImageMapping[];
  readonly #patterns = new Map<string, RegExp>();

  /**
   * The first mapping that matches counts. A function is called at each lookup, so that the table can change.
   */
  constructor(mappings: readonly ImageMapping[] | (() => readonly ImageMapping[])) {
    this.#mappings = typeof mappings === "function" ? mappings : () => mappings;
  }

  /** Entry of an image, if it has one. */
  find(image: string): ImageMapping | undefined {
    return this.#mappings().find(({ pattern }) => this.#pattern(pattern).test(image));
  }

  #pattern(text: string): RegExp {
    const known = this.#patterns.get(text) ?? imagePattern(text);
    this.#patterns.set(text, known);
    return known;
  }

  async imageStatus(image: string, hasCommand: boolean): Promise<Image | undefined> {
    if (image === "" || /\s/.test(image))
      throw new RuntimeError("InvalidImageName", `image ${JSON.stringify(image)} is not a valid reference`);
    const program = this.find(image);
    if (!hasCommand && (program === undefined || programFolder(program) !== undefined)) return undefined;
    const user = program?.user === undefined ? {} : { user: program.user.uid };
    return { ref: `host://${image}`, tags: [image], digests: [], sizeBytes: 0, ...user };
  }

  async pullImage(image: string): Promise<string> {
    throw new RuntimeError(
      "ErrImageNeverPull",
      `image "${image}" is not pulled on this runtime, which runs commands of the host: give the container a ` +
        `command, or map the image to one with \`dray image map '${image}' COMMAND\` or --image '${image}=COMMAND'`,
    );
  }

  /** Always empty, since images stand for programs of the machine. */
  async listImages(): Promise<readonly Image[]> {
    return [];
  }

  async usedImages(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  async imageFolder(): Promise<undefined> {}

  async removeImage(): Promise<void> {}
}

/** Converts a pattern of image references, in which `*` matches any characters. */
export function imagePattern(pattern: string): RegExp {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s");
}
