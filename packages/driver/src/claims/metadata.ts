import { open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { canonicalJSON, decodeJSON, encodeJSON } from "@dray/api";
import { qualifiedName, type Spec, validateSpec } from "@dray/cdi";
import { removeFile, writeFileAtomically } from "@dray/files";
import type { AllocatedClaim, DeviceMetadata, MetadataVersion } from "../types/driver.ts";
import { baseRequest } from "./allocated.ts";
import { createKeyedMutex } from "./instance-lock.ts";
import type { ClaimRef, DeviceRef } from "./status.ts";

/** One object of a file. */
interface MetadataObject {
  readonly apiVersion: string;
  readonly kind: "DeviceMetadata";
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly generation: number;
  };
  readonly podClaimName?: string;
  readonly requests: readonly { readonly name: string; readonly devices: readonly MetadataDevice[] }[];
}

interface MetadataDevice extends DeviceMetadata {
  readonly driver: string;
  readonly pool: string;
  readonly name: string;
}

/** A device with its metadata. */
export interface DescribedDevice {
  readonly device: DeviceRef;
  readonly metadata?: DeviceMetadata | undefined;
}

const group = "metadata.resource.k8s.io";
const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";
const containerFolder = "/var/run/kubernetes.io/dra-device-attributes";

/** Where the metadata files of a driver are, and what they are called in containers. */
function paths(driver: string, pluginsDirectory: string, cdiDirectory: string) {
  const claimFolder = ({ namespace, name }: Pick<ClaimRef, "namespace" | "name">): string =>
    join(pluginsDirectory, driver, "dra-device-metadata", part(`${namespace}_${name}`));
  return {
    claimFolder,
    file: (claim: Pick<ClaimRef, "namespace" | "name">, request: string): string =>
      join(claimFolder(claim), part(request), "metadata.json"),
    spec: (uid: string, request: string): string =>
      join(cdiDirectory, part(`${driver}_metadata_${uid}_${request}.json`)),
    inContainer: (claim: string, podClaim: string | undefined, request: string): string =>
      join(
        containerFolder,
        ...(podClaim ? ["resourceclaimtemplates", part(podClaim)] : ["resourceclaims", part(claim)]),
        part(request),
        `${driver}-metadata.json`,
      ),
  };
}

/** Names come from the API server, which lets none of these pass; no name may lead elsewhere all the same. */
function part(name: string): string {
  if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) {
    throw new Error(`${JSON.stringify(name)} cannot be the name of a file`);
  }
  return name;
}

/** Changes metadata of claims that are prepared. */
export interface DeviceMetadataUpdater {
  /**
   * Replaces the metadata of these devices of one request, for what becomes known after `prepare` only, such
   * as the addresses of an interface. Other devices of the request keep theirs. Containers that run see the
   * change: the file keeps its identity and gets the next generation, which is returned. Rejects where the
   * claim is not prepared, or one of the devices is not of the request.
   */
  update(claim: ClaimRef, request: string, devices: readonly DescribedDevice[]): Promise<number>;
}

/** See DeviceMetadataUpdater. It works on files only, so that any process on the node may have one. */
export function deviceMetadataUpdater(options: {
  /** Name of the driver. */
  readonly driver: string;
  /** As for `runDriver`. */
  readonly pluginsDirectory: string;
}): DeviceMetadataUpdater {
  const { driver, pluginsDirectory } = options;
  const { file } = paths(driver, pluginsDirectory, "/");
  return {
    async update(claim, request, devices) {
      const path = file(claim, baseRequest(request));
      return oneAtATime(path, async () => {
        const objects = await readObjects(path);
        const [first] = objects;
        if (first === undefined || first.metadata.uid !== claim.uid) {
          throw new Error(
            `request ${request} of claim ${claim.namespace}/${claim.name} (UID ${claim.uid}) is not prepared with metadata: ${path} is ${first === undefined ? "missing or damaged" : `of UID ${first.metadata.uid}`}`,
          );
        }
        for (const { device } of devices) {
          const known = first.requests.flatMap((one) => one.devices);
          if (known.some((one) => one.pool === device.pool && one.name === device.device)) continue;
          throw new Error(
            `device ${device.pool}/${device.device} is not one of request ${request} of claim ${claim.namespace}/${claim.name}: ${known.map((one) => `${one.pool}/${one.name}`).join(", ")} are`,
          );
        }
        const generation = first.metadata.generation + 1;
        const changed = objects.map((object) => ({
          ...object,
          metadata: { ...object.metadata, generation },
          requests: object.requests.map((one) => ({
            ...one,
            devices: one.devices.map((old) => {
              const found = devices.find(
                ({ device }) => device.pool === old.pool && device.device === old.name,
              );
              if (found === undefined) return old;
              return { driver: old.driver, pool: old.pool, name: old.name, ...found.metadata };
            }),
          })),
        }));
        await overwrite(path, textOf(changed));
        return generation;
      });
    },
  };
}

const oneAtATime = createKeyedMutex();

/** Writes and removes the files of claims, for `runDriver`. */
export interface MetadataFiles {
  /**
   * Writes what is missing for the requests of `devices` and returns the CDI device of each base request.
   * Files that are there and are this claim's stay as they are: they may have been updated since.
   */
  write(claim: AllocatedClaim, devices: readonly PreparedDescription[]): Promise<ReadonlyMap<string, string>>;
  remove(claim: ClaimRef): Promise<void>;
}

interface PreparedDescription {
  readonly device: { readonly result: DeviceRef & { readonly request: string } };
  readonly metadata?: DeviceMetadata | undefined;
}

export function metadataFiles(options: {
  readonly driver: string;
  readonly pluginsDirectory: string;
  readonly cdiDirectory: string;
  readonly versions: readonly MetadataVersion[];
}): MetadataFiles {
  const { driver, pluginsDirectory, cdiDirectory, versions } = options;
  const at = paths(driver, pluginsDirectory, cdiDirectory);
  const kind = `${driver}/metadata`;

  return {
    async write({ claim, uid, namespace, name }, devices) {
      const podClaimName = claim.metadata.annotations?.[podClaimAnnotation];
      const ids = new Map<string, string>();
      const requests = new Map<string, PreparedDescription[]>();
      for (const one of devices) {
        const { request } = one.device.result;
        requests.set(request, [...(requests.get(request) ?? []), one]);
      }
      for (const [request, described] of requests) {
        const base = baseRequest(request);
        const path = at.file({ namespace, name }, base);
        const object = {
          kind: "DeviceMetadata",
          metadata: { name, namespace, uid, generation: 1 },
          ...(podClaimName ? { podClaimName } : {}),
          requests: [
            {
              name: request,
              devices: described.map(({ device, metadata }) => ({
                driver,
                pool: device.result.pool,
                name: device.result.device,
                ...metadata,
              })),
            },
          ],
        } as const;
        const all = versions.map((version) => ({ apiVersion: `${group}/${version}`, ...object }));
        await oneAtATime(path, async () => {
          const [there] = await readObjects(path);
          if (there !== undefined && identityOf(there) === identityOf(all[0]!)) return;
          await writeFileAtomically(path, textOf(all), { mode: 0o644, folderMode: 0o755 });
        });
        const device = `${uid}_${base}`;
        const mount = {
          hostPath: path,
          containerPath: at.inContainer(name, podClaimName, base),
          options: ["ro", "bind"],
        };
        const spec: Spec = validateSpec({
          cdiVersion: "0.5.0",
          kind,
          devices: [{ name: device, containerEdits: { mounts: [mount] } }],
        });
        await writeFileAtomically(at.spec(uid, base), `${JSON.stringify(spec, null, 2)}\n`, {
          mode: 0o644,
          folderMode: 0o755,
        });
        ids.set(base, qualifiedName(kind, device));
      }
      return ids;
    },
    async remove(claim) {
      const folder = at.claimFolder(claim);
      const requests = await namesIn(folder);
      const objects = await Promise.all(requests.map((request) => readObjects(at.file(claim, request))));
      // A claim that was created anew under the same name may have its files there already.
      if (objects.every(([first]) => first === undefined || first.metadata.uid === claim.uid)) {
        await rm(folder, { recursive: true, force: true });
      }
      const prefix = `${driver}_metadata_${claim.uid}_`;
      for (const file of await namesIn(cdiDirectory)) {
        if (file.startsWith(prefix) && file.endsWith(".json")) await removeFile(join(cdiDirectory, file));
      }
    },
  };
}

/** The part of a file that does not change while a claim is prepared. */
function identityOf({ metadata, podClaimName, requests }: Omit<MetadataObject, "apiVersion">): string {
  const devices = requests.map(({ name, devices }) => [name, devices.map((one) => [one.pool, one.name])]);
  return canonicalJSON([metadata.uid, podClaimName ?? null, devices]);
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** A JSON stream: the same in each version, one object a line. */
function textOf(objects: readonly MetadataObject[]): string {
  return objects.map((object) => `${encodeJSON(object)}\n`).join("");
}

/** Nothing for a file that is missing or was not written by us to its end. */
async function readObjects(path: string): Promise<MetadataObject[]> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  try {
    return (
      text
        .split("\n")
        .filter((line) => line.trim() !== "")
        // Written by this program.
        .map((line) => decodeJSON(line) as MetadataObject)
    );
  } catch {
    return [];
  }
}

/**
 * Writes into the file that is there: containers have it by a bind mount, and would go on seeing an old file
 * that another took the place of. One call writes it all, over the old length, so that a reader does not meet
 * a part.
 */
async function overwrite(path: string, text: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    const bytes = Buffer.from(text);
    const padded = Buffer.alloc(Math.max(bytes.length, (await file.stat()).size), "\n");
    bytes.copy(padded);
    await file.write(padded, 0, padded.length, 0);
    await file.truncate(bytes.length);
    await file.sync();
  } finally {
    await file.close();
  }
}
