import { anyRegistry, type ImageMapping } from "@dray/kubelet";
import { ourFiles, ourselves } from "../ourselves.ts";

/** Our servers do little: a small young generation and no helper threads save 12 MiB in each of them. */
const smallHeap = ["--max-semi-space-size=1", "--v8-pool-size=0"];

/** Sleeps, and ends at once with exit code 0 on SIGTERM, as the image does. */
const pause = ["/bin/sh", "-c", "trap 'exit 0' INT TERM; sleep 2147483647 & wait"];

/** The folder that nginx's image serves. */
const nginxRoot = "/usr/share/nginx/html";

/** Common images, and the program that each runs: those of the machine where they have the same name. */
export function builtInImages(): ImageMapping[] {
  const [driver, driverArgs] = ourselves(["driver", "example"], smallHeap);
  const [plugin, pluginArgs] = ourselves(["driver", "device-plugin-example"], smallHeap);
  const [nginx, nginxArgs] = ourselves(["image", "serve", nginxRoot], smallHeap);
  const common: readonly (readonly [name: string, entrypoint: readonly string[], cmd: readonly string[]])[] =
    [
      ["busybox", [], ["sh"]],
      ["alpine", [], ["/bin/sh"]],
      ["debian", [], ["bash"]],
      ["ubuntu", [], ["bash"]],
      ["python", [], ["python3"]],
      ["pause", pause, []],
      // The configuration of the machine's nginx is the machine's: it would listen on all addresses.
      ["nginx", [], [nginx, ...nginxArgs]],
    ];
  return [
    {
      pattern: "registry.k8s.io/dra-example-driver/dra-example-driver:*",
      command: [driver, ...driverArgs],
      needs: ourFiles(),
    },
    ...anyRegistry("device-plugin-example").map((pattern) => ({
      pattern,
      command: [plugin, ...pluginArgs],
      needs: ourFiles(),
    })),
    ...common.flatMap(([name, entrypoint, cmd]) =>
      anyRegistry(name).map((pattern) => ({
        pattern,
        entrypoint,
        cmd,
        ...(name === "nginx" ? { needs: ourFiles() } : {}),
      })),
    ),
  ];
}
