import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  applyToOciConfig,
  type CdiError,
  hostDevice,
  mergeEdits,
  minimumVersion,
  type OciConfig,
  parseSpec,
} from "./index.ts";

/**
 * A recorded answer of the Go library that container runtimes use (container-device-interface 1.1.1): the
 * validity of a spec, its minimum version, and a configuration after devices were injected.
 */
interface Case {
  readonly name: string;
  readonly spec: object;
  readonly invalid?: string;
  readonly minimum?: string;
  readonly config?: OciConfig;
  readonly devices?: readonly string[];
  readonly error?: string;
  readonly result?: OciConfig;
}

const cases = readFileSync(join(import.meta.dirname, "..", "testdata", "reference.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Case);

/** Injects devices as the registry does for one file. */
function inject(one: Case): OciConfig {
  const spec = parseSpec(JSON.stringify(one.spec));
  const edits = one.devices!.map((name) => {
    const device = spec.devices.find((candidate) => `${spec.kind}=${candidate.name}` === name);
    if (device === undefined) throw new Error(`no device ${name}`);
    return device.containerEdits;
  });
  return applyToOciConfig(one.config!, mergeEdits([spec.containerEdits ?? {}, ...edits]), hostDevice);
}

/** Go writes these members of a process even if they are unset. */
function withGoDefaults({ process, ...config }: OciConfig): OciConfig {
  if (process === undefined) return config;
  return {
    ...config,
    process: { cwd: "", ...process, user: { uid: 0, gid: 0, ...process.user } } as typeof process,
  };
}

for (const one of cases) {
  test(one.name, { skip: process.platform !== "linux" }, () => {
    if (one.invalid !== undefined) {
      assert.throws(
        () => parseSpec(JSON.stringify(one.spec)),
        { name: "CdiError" } satisfies Partial<CdiError>,
        one.invalid,
      );
      return;
    }
    // The reference ignores all devices but the last: see `minimumAccepted`.
    const spec = parseSpec(JSON.stringify(one.spec));
    if (spec.devices.length === 1) assert.equal(minimumVersion(spec), one.minimum);
    if (one.config === undefined) return;
    if (one.error !== undefined) assert.throws(() => inject(one), one.error);
    else assert.deepEqual(withGoDefaults(inject(one)), withGoDefaults(one.result!));
  });
}
