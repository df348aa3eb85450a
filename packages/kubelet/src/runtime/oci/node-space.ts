import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolderSync } from "@dray/files";
import { isMountPoint } from "../../base/mounts.ts";
import { unmountAll } from "./images/snapshots.ts";
import { runTool, tool } from "./tools.ts";

/** Name spaces of a node, in which its pods with `hostNetwork` are. */
export interface NodeSpace {
  /** File of the UTS name space, which has the node's name. */
  readonly uts: string;
  /** File of the network name space; undefined if the node has the machine's network. */
  readonly network: string | undefined;
}

/** Maximum length of a host name in the kernel. */
export const maxHostname = 64;

/** Files of the name spaces of the node whose runtime has this folder. */
export function nodeSpaceOf(directory: string, ownNetwork: boolean): NodeSpace {
  const folder = join(directory, "node");
  return { uts: join(folder, "uts"), network: ownNetwork ? join(folder, "network") : undefined };
}

/** Makes the UTS name space of a node, unless pods of an earlier agent are in it. */
export async function makeNodeHostname({ uts }: NodeSpace, nodeName: string): Promise<void> {
  makeFolderSync(join(uts, ".."), 0o711);
  if (isMountPoint(uts)) return;
  writeFileSync(uts, "", { mode: 0o600 });
  await runTool("unshare", [`--uts=${uts}`, "--", tool("hostname"), nodeName.slice(0, maxHostname)]);
}

export async function removeNodeHostname({ uts }: NodeSpace): Promise<void> {
  await unmountAll(uts);
  await rm(uts, { force: true });
}
