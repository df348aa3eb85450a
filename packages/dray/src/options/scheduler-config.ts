import { resolve } from "node:path";
import type { Features } from "@dray/api";
import type { SchedulerConfiguration } from "@dray/scheduler";
import { readFlagFile } from "./flag-file.ts";

/** The KubeSchedulerConfiguration of a flag. */
export interface SchedulerConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly configuration: SchedulerConfiguration;
}

/**
 * Throws a UsageError if the file cannot be read, and an error with the file and all problems if it is
 * invalid.
 */
export async function readSchedulerConfig(
  flag: string,
  file: string,
  features: Features,
): Promise<SchedulerConfigFile> {
  const text = readFlagFile(flag, file);
  return { path: resolve(file), text, configuration: await checkSchedulerConfig(file, text, features) };
}

/** Throws an error that names the file and all problems. */
export async function checkSchedulerConfig(
  file: string,
  text: string,
  features: Features,
): Promise<SchedulerConfiguration> {
  const { ConfigurationError, parseSchedulerConfiguration } = await import("@dray/scheduler");
  try {
    return parseSchedulerConfiguration(text, features);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const [first = "", ...others] = error.problems;
    const problems = others.length === 0 ? ` ${first}` : error.problems.map((each) => `\n  ${each}`).join("");
    throw new Error(`${file}:${problems}`, { cause: error });
  }
}
