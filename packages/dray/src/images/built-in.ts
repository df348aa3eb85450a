import { anyRegistry, type ImageMapping, imagePattern } from "@dray/kubelet";
import { ownCommand, ownFiles } from "../process/own-command.ts";

/**
 * Flags for our small servers: a small young generation and no helper threads save 12 MiB in each of them.
 */
export const smallHeap = ["--max-semi-space-size=1", "--v8-pool-size=0"];

/** Sleeps, and ends at once with exit code 0 on SIGTERM, as the image does. */
const pause = ["/bin/sh", "-c", "trap 'exit 0' INT TERM; sleep 2147483647 & wait"];

/** The folder that nginx's image serves. */
const nginxRoot = "/usr/share/nginx/html";

/** An image that this program implements. */
export interface OwnImage {
  readonly pattern: string;
  /** Arguments of our command line. */
  readonly args: readonly string[];
  /** The programs that manifests run in it. */
  readonly programs: readonly string[];
}

const ownImages: readonly OwnImage[] = [
  {
    pattern: "registry.k8s.io/dra-example-driver/dra-example-driver:*",
    args: ["driver", "example"],
    programs: ["dra-example-kubeletplugin", "dra-example-controller"],
  },
  ...anyRegistry("device-plugin-example").map((pattern) => ({
    pattern,
    args: ["driver", "device-plugin-example"],
    programs: ["device-plugin-example"],
  })),
];

/** Returns the built-in image with this name; undefined without one. */
export function ownImageOf(name: string): OwnImage | undefined {
  return ownImages.find(({ pattern }) => imagePattern(pattern).test(name));
}

/** Returns common images with their programs: those of the machine with the same name. */
export function builtInImages(): ImageMapping[] {
  const [nginx, nginxArgs] = ownCommand(["image", "serve", nginxRoot], smallHeap);
  const common: readonly (readonly [name: string, entrypoint: readonly string[], cmd: readonly string[]])[] =
    [
      ["busybox", [], ["sh"]],
      ["alpine", [], ["/bin/sh"]],
      ["debian", [], ["bash"]],
      ["ubuntu", [], ["bash"]],
      ["python", [], ["python3"]],
      ["pause", pause, []],
      // The configuration of the machine's nginx does not apply: it would listen on all addresses.
      ["nginx", [], [nginx, ...nginxArgs]],
    ];
  return [
    ...ownImages.map(({ pattern, args }) => {
      const [program, words] = ownCommand(args, smallHeap);
      return { pattern, command: [program, ...words], needs: ownFiles() };
    }),
    ...common.flatMap(([name, entrypoint, cmd]) =>
      anyRegistry(name).map((pattern) => ({
        pattern,
        entrypoint,
        cmd,
        ...(name === "nginx" ? { needs: ownFiles() } : {}),
      })),
    ),
  ];
}
