import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hostDevice } from "@dray/cdi";
import { makeFolderSync, removeFolder } from "@dray/files";
import { cdiEdits } from "../cdi-edits.ts";
import type { ContainerConfig, ImageMount, MountConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import { writeRecord } from "../host/records.ts";
import type { OciContainerRecord } from "./container.ts";
import { devicesOf } from "./devices.ts";
import { readInRoot, resolveInRoot } from "./images/in-root.ts";
import type { OciRuntimeOptions, Started } from "./options.ts";
import { seccompProfile } from "./seccomp-profile.ts";
import { containerSpec } from "./spec.ts";
import { resolveUser } from "./users.ts";

const maxUserFileBytes = 8 << 20;

/** Name spaces that a container joins. */
export interface BundlePlace {
  readonly sandboxId: string;
  /** File of the pid name space of another container; undefined for that of the sandbox, or its own. */
  readonly pidNamespace: string | undefined;
}

/** A container that was created and not started. */
export interface Bundle {
  readonly record: OciContainerRecord;
  /** Fields of the configuration that the runtime ignores. */
  readonly unsupported: readonly string[];
}

/**
 * Makes the folder of a container: its root, its `config.json` (OCI runtime specification), and its record.
 * Removes it again on failure, with a RuntimeError.
 */
export async function makeBundle(
  options: OciRuntimeOptions,
  started: Started,
  { sandboxId, pidNamespace }: BundlePlace,
  config: ContainerConfig,
): Promise<Bundle> {
  const sandbox = started.sandboxes.get(sandboxId);
  if (sandbox === undefined || sandbox.stopped)
    throw new RuntimeError("CreateContainerError", `sandbox ${sandboxId} does not run`);
  const edits = await cdiEdits(options, config.cdiDevices);
  const image = await options.images.resolve(config.imageRef || config.image);
  const id = options.newId();
  const directory = join(options.directory, "containers", id);
  makeFolderSync(directory, 0o700);
  try {
    const root = await options.images.snapshots.makeRoot(id, directory, image);
    const mounts = await mountsOf(options, id, directory, config);
    const [passwd = "", group = ""] = await Promise.all(
      ["/etc/passwd", "/etc/group"].map((path) => readInRoot(root, path, maxUserFileBytes)),
    );
    const cgroup = `${sandbox.cgroup}/${id}`;
    const { spec, unsupported } = containerSpec({
      sandbox: sandbox.config,
      container: { ...config, mounts },
      image: image.config,
      user: resolveUser(config.security, image.config.user, { passwd, group }),
      root,
      namespaces: {
        ...started.sandboxes.namespaces(sandboxId),
        ...(pidNamespace !== undefined && { pid: pidNamespace }),
      },
      podMounts: started.sandboxes.mounts(sandboxId),
      devices: devicesOf(config),
      seccomp: await seccompProfile(config),
      edits,
      cgroupsPath: cgroup,
      machine: started.machine,
      lookUpDevice: hostDevice,
    });
    // A source that does not exist becomes a folder. Upstream: containerd, WithMounts.
    for (const { hostPath } of mounts) if (!existsSync(hostPath)) makeFolderSync(hostPath);
    writeFileSync(join(directory, "config.json"), JSON.stringify(spec), { mode: 0o600 });
    const { stopSignal } = image.config;
    const { uid, gid, additionalGids } = spec.process.user;
    const user = { uid, gid, groups: additionalGids };
    const createdAt = options.clock.now();
    const record = { id, sandboxId, config, createdAt, stopSignal, user, cgroup };
    writeRecord(join(directory, "container.json"), JSON.stringify(record));
    return { record, unsupported };
  } catch (error) {
    await options.images.snapshots.removeRoots(id);
    await removeFolder(directory);
    if (error instanceof RuntimeError) throw error;
    throw new RuntimeError(
      "CreateContainerError",
      `failed to create container "${config.name}": ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/**
 * Unpacks images that are mounted. One at a time, so that nothing is being made when one fails and all are
 * removed.
 */
async function mountsOf(
  options: OciRuntimeOptions,
  id: string,
  directory: string,
  config: ContainerConfig,
): Promise<MountConfig[]> {
  const mounts: MountConfig[] = [];
  for (const [index, mount] of config.mounts.entries()) {
    mounts.push(
      mount.image === undefined
        ? mount
        : { ...mount, hostPath: await imageFolder(options, `${id}.${index}`, directory, mount.image) },
    );
  }
  return mounts;
}

async function imageFolder(
  { images }: OciRuntimeOptions,
  id: string,
  directory: string,
  { ref, name, subPath }: ImageMount,
): Promise<string> {
  const root = await images.snapshots.makeRoot(id, directory, await images.resolve(ref || name));
  const hostPath = await resolveInRoot(root, subPath);
  if (existsSync(hostPath)) return hostPath;
  throw new RuntimeError(
    "CreateContainerError",
    `subPath ${JSON.stringify(subPath)} does not exist in the image ${JSON.stringify(name)}`,
  );
}
