import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { NotRegularFileError, readRegularFile } from "@dray/files";
import { type MergedEdits, mergeEdits } from "./apply/edits.ts";
import { qualifiedName } from "./spec/names.ts";
import { parseSpecInThread } from "./spec/parse.ts";
import type { Device, Spec } from "./spec/spec.ts";

/** The folders that runtimes search, lowest priority first: of administrators, of drivers. */
export const defaultDirectories = ["/etc/cdi", "/var/run/cdi"] as const;

/** No spec defines the requested devices, or two specs of equal priority do. */
export class UnresolvableDevicesError extends Error {
  override readonly name = "UnresolvableDevicesError";
  readonly devices: readonly string[];
  constructor(devices: readonly string[], problems: readonly CdiProblem[]) {
    const why = problems.map(({ path, message }) => `${path}: ${message}`).join("; ");
    super(`unresolvable CDI devices ${devices.join(", ")}${why === "" ? "" : ` (${why})`}`);
    this.devices = devices;
  }
}

/** A file that is ignored, or a device that two files define. */
export interface CdiProblem {
  readonly path: string;
  readonly message: string;
}

/** The specs of some folders, as they are on disk at each call. */
export interface CdiRegistry {
  /**
   * Resolves to the edits of these devices in order: before the first device of a spec those of the spec,
   * then those of the device. Rejects with `UnresolvableDevicesError` if one of the devices cannot be found.
   */
  resolve(names: readonly string[]): Promise<MergedEdits>;
  /** Qualified names of all devices that resolve. */
  devices(): Promise<string[]>;
  /** Current errors, by file. */
  problems(): Promise<readonly CdiProblem[]>;
}

/** Maximum size of a spec, enough for ten thousand devices. The specification sets no limit. */
const maxSpecBytes = 1 << 20;

interface SpecFile {
  readonly path: string;
  readonly priority: number;
  /** Changes with each write of the file. */
  readonly version: string;
  readonly spec?: Spec;
  readonly problem?: string;
}

interface Entry {
  readonly file: ValidFile;
  readonly device: Device;
}

type ValidFile = SpecFile & { readonly spec: Spec };

function hasSpec(file: SpecFile): file is ValidFile {
  return file.spec !== undefined;
}

/**
 * Creates a registry over `directories`, lowest priority first; missing ones are empty. Every call checks the
 * files and reads changed ones: a driver writes a spec just before the runtime needs it, and notifications of
 * the file system could come too late.
 */
export function cdiRegistry(directories: readonly string[] = defaultDirectories): CdiRegistry {
  let files = new Map<string, SpecFile>();

  let last: Promise<unknown> = Promise.resolve();

  // Serialized, so that a slow file is read once.
  const look = (): Promise<ReturnType<typeof index>> => {
    const next = last.then(async () => {
      files = await readFiles(directories, files);
      return index([...files.values()]);
    });
    last = next.catch(() => {});
    return next;
  };

  return {
    async resolve(names) {
      const { entries, problems } = await look();
      const missing = names.filter((name) => !entries.has(name));
      if (missing.length > 0) throw new UnresolvableDevicesError([...new Set(missing)], problems);
      const seen = new Set<Spec>();
      return mergeEdits(
        names.flatMap((name) => {
          // No name is missing.
          const { file, device } = entries.get(name)!;
          const first = !seen.has(file.spec);
          seen.add(file.spec);
          return first && file.spec.containerEdits !== undefined
            ? [file.spec.containerEdits, device.containerEdits]
            : [device.containerEdits];
        }),
      );
    },
    devices: async () => [...(await look()).entries.keys()].sort(),
    problems: async () => (await look()).problems,
  };
}

async function readFiles(
  directories: readonly string[],
  known: ReadonlyMap<string, SpecFile>,
): Promise<Map<string, SpecFile>> {
  const files = new Map<string, SpecFile>();
  for (const [priority, directory] of directories.entries()) {
    for (const name of await specNames(directory)) {
      const path = join(directory, name);
      const file = await readSpecFile(path, priority, known.get(path));
      if (file !== undefined) files.set(path, file);
    }
  }
  return files;
}

async function specNames(directory: string): Promise<string[]> {
  try {
    const names = await readdir(directory);
    return names.filter((name) => /\.(json|yaml)$/.test(name)).sort();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return [];
    throw error;
  }
}

async function readSpecFile(
  path: string,
  priority: number,
  known: SpecFile | undefined,
): Promise<SpecFile | undefined> {
  let version = "";
  try {
    const info = await stat(path, { bigint: true });
    if (info.isDirectory()) return undefined;
    version = `${info.ino} ${info.size} ${info.mtimeNs} ${info.ctimeNs}`;
    if (known?.version === version) return known;
    const text = (await readRegularFile(path, { maxBytes: maxSpecBytes })).toString("utf8");
    return { path, priority, version, spec: await parseSpecInThread(text) };
  } catch (error) {
    // The file was removed after the folder was read.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const { message } = error as Error;
    const problem = error instanceof NotRegularFileError ? message.slice(path.length + 1) : message;
    return { path, priority, version, problem };
  }
}

/** The highest priority wins. A device in two files of that priority is a conflict. */
function index(files: readonly SpecFile[]): { entries: Map<string, Entry>; problems: CdiProblem[] } {
  const entries = new Map<string, Entry>();
  const conflicts = new Map<string, Entry[]>();
  const problems: CdiProblem[] = [];
  for (const file of files) {
    if (file.problem !== undefined) problems.push({ path: file.path, message: file.problem });
    if (!hasSpec(file)) continue;
    for (const device of file.spec.devices ?? []) {
      const name = qualifiedName(file.spec.kind, device.name);
      const entry = { file, device };
      const other = entries.get(name);
      if (other !== undefined && other.file.priority === file.priority) {
        conflicts.set(name, [...(conflicts.get(name) ?? [other]), entry]);
      } else {
        conflicts.delete(name);
        entries.set(name, entry);
      }
    }
  }
  for (const [name, others] of conflicts) {
    entries.delete(name);
    const paths = others.map(({ file }) => file.path);
    problems.push({
      // A conflict has at least two files.
      path: paths.at(-1)!,
      message: `device ${name} is defined in ${paths.join(" and ")}: neither is used`,
    });
  }
  return { entries, problems };
}
