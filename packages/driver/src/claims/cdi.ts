import { qualifiedName, removeSpec, type Spec, writeSpec } from "@dray/cdi";
import type { Driver } from "../types/driver.ts";
import type { PreparedDevice } from "./checkpoint.ts";

const commonDevice = "common";

/** The kind of a driver's CDI specs. */
function cdiKind(driver: Driver): string {
  return driver.cdi?.kind ?? `k8s.${driver.name}/claim`;
}

/** Writes the spec of the edits that all of the driver's devices share, if it has any. */
export async function writeCommonSpec(driver: Driver, directory: string): Promise<void> {
  const edits = driver.cdi?.common;
  if (edits === undefined) return;
  const spec = { kind: cdiKind(driver), devices: [{ name: commonDevice, containerEdits: edits }] };
  await writeSpec(directory, spec, commonDevice);
}

/** The CDI specs of a driver's claims: one file for each claim, in a folder that container runtimes read. */
export class ClaimSpecs {
  readonly #kind: string;
  readonly #hasCommon: boolean;
  readonly #directory: string;

  constructor(driver: Driver, directory: string) {
    this.#kind = cdiKind(driver);
    this.#hasCommon = driver.cdi?.common !== undefined;
    this.#directory = directory;
  }

  async write(uid: string, prepared: readonly PreparedDevice[]): Promise<void> {
    const names = cdiNames(uid, prepared);
    const devices = prepared
      .map(({ edits }, i) => ({ name: names[i]!, containerEdits: edits }))
      .filter(({ containerEdits }) => changesSomething(containerEdits));
    if (devices.length > 0) await writeSpec(this.#directory, { kind: this.#kind, devices }, uid);
  }

  remove(uid: string): Promise<void> {
    return removeSpec(this.#directory, this.#kind, uid);
  }

  /** The qualified names of each prepared device, in the order of `prepared`. */
  devices(uid: string, prepared: readonly PreparedDevice[]): string[][] {
    const names = cdiNames(uid, prepared);
    return prepared.map(({ edits }, i) => [
      ...(this.#hasCommon ? [qualifiedName(this.#kind, commonDevice)] : []),
      ...(changesSomething(edits) ? [qualifiedName(this.#kind, names[i]!)] : []),
    ]);
  }
}

/**
 * In the order of `prepared`. Names of devices are unique in their pool only, and requests for admin access
 * may get one device twice: the second of a name has a suffix that no device's name has.
 */
function cdiNames(uid: string, prepared: readonly PreparedDevice[]): string[] {
  const counts = new Map<string, number>();
  return prepared.map(({ device: { result } }) => {
    const name = `${uid}-${result.device}${result.shareID === undefined ? "" : `-${result.shareID}`}`;
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name}:${count}`;
  });
}

function changesSomething(edits: Spec["devices"][number]["containerEdits"]): boolean {
  return Object.values(edits).some((value) => !Array.isArray(value) || value.length > 0);
}
