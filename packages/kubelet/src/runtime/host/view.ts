import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ContainerConfig, MountConfig } from "../config.ts";
import { type ImageMapping, programFolder } from "./images.ts";
import type { LaunchFolder } from "./launch-plan.ts";
import { ownPlaces } from "./places.ts";

/** Folders below /run that programs of the machine need: NixOS has all its programs there. */
const neededOfRun = ["/run/current-system", "/run/opengl-driver"];

/** Folders and mounts that a container without privileges has in place of the machine's. */
export interface OwnView {
  readonly folders: readonly LaunchFolder[];
  readonly mounts: readonly MountConfig[];
}

/**
 * Makes the folders of a container below `directory`, and mounts files of the machine that it needs over
 * them. `needs` are files and folders of the image's program; those that every user can reach stay at their
 * paths.
 */
export function ownView(
  config: Pick<ContainerConfig, "security">,
  directory: string,
  needs: readonly string[],
): OwnView {
  const folders: LaunchFolder[] = [];
  const mounts: MountConfig[] = [];
  const own = (path: string, mode: number, readOnly: boolean): void => {
    const hostPath = join(directory, "own", path);
    folders.push({ path: hostPath, mode });
    mounts.push({ hostPath, containerPath: path, readOnly });
  };
  const readOnly = config.security.readOnlyRootFilesystem;
  for (const [path, mode] of ownPlaces) own(path, mode, readOnly);
  own("/dev/shm", 0o1777, false);
  const covered = ownPlaces.map(([path]) => path);
  const show = (path: string): void => {
    const closed = closedAncestor(path);
    if (closed !== undefined && !isBelow(closed, covered)) {
      own(closed, 0o755, true);
      covered.push(closed);
    }
    if (isBelow(path, covered)) mounts.push({ hostPath: path, containerPath: path, readOnly: true });
  };
  const resolver = realPath("/etc/resolv.conf");
  for (const path of [...needs, ...neededOfRun, ...(resolver === undefined ? [] : [resolver])])
    if (existsSync(path)) show(path);
  return { folders, mounts };
}

/** Files and folders that the program of an image reads. */
export function neededFiles(image: ImageMapping | undefined): string[] {
  if (image === undefined) return [];
  const folder = programFolder(image);
  if (folder !== undefined) return [...(image.needs ?? []), folder];
  return [...(image.needs ?? []), ...("command" in image ? filesOfCommand(image.command) : [])];
}

/** Paths of the machine in a mapped command: its program and its files. */
function filesOfCommand(words: readonly string[]): string[] {
  return words.flatMap((word) => {
    if (!word.startsWith("/") || !existsSync(word)) return [];
    const folder = dirname(word);
    const whole = [...ownPlaces.map(([path]) => path), "/"].includes(folder);
    return [statSync(word).isDirectory() || whole ? word : folder];
  });
}

function isBelow(path: string, places: readonly string[]): boolean {
  return places.some((place) => path === place || path.startsWith(`${place}/`));
}

/** The first ancestor of a path that not every user may enter. */
function closedAncestor(path: string): string | undefined {
  const names = path.split("/").slice(1, -1);
  return names
    .map((_, index) => `/${names.slice(0, index + 1).join("/")}`)
    .find((folder) => (statSync(folder).mode & 0o001) === 0);
}

export function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
