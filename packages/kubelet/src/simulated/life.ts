import { controllerOf, DurationError, parseDuration } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";

/** How long the containers of a pod run on a simulated node: `30s`. */
export const runsForAnnotation = "dray.dev/runs-for";
/** Exit code of the containers; 0 by default. */
export const exitCodeAnnotation = "dray.dev/exit-code";

/** Life of the main containers of a pod. */
export interface PodLife {
  /** Milliseconds; without it, until the pod is deleted. */
  readonly runsFor?: number;
  readonly exitCode: number;
}

/** Default duration of a Job's containers in milliseconds, as in kwok. */
const jobRunsFor = 1000;

/** Parses the annotations of a pod. Throws an error with the accepted values. */
export function lifeOf({ metadata }: Pod): PodLife {
  const { annotations = {} } = metadata;
  const [runsFor, exitCode = "0"] = [annotations[runsForAnnotation], annotations[exitCodeAnnotation]];
  if (!/^\d{1,3}$/.test(exitCode) || Number(exitCode) > 255)
    throw invalid(exitCodeAnnotation, exitCode, "a whole number from 0 to 255");
  const isOfJob = controllerOf({ metadata })?.kind === "Job";
  const milliseconds = runsFor === undefined ? (isOfJob ? jobRunsFor : undefined) : durationOf(runsFor);
  return { exitCode: Number(exitCode), ...(milliseconds !== undefined && { runsFor: milliseconds }) };
}

function durationOf(text: string): number {
  const accepted = "a duration such as 500ms, 30s or 1h30m";
  try {
    const nanoseconds = parseDuration(text);
    if (nanoseconds >= 0n) return Number(nanoseconds / 1_000_000n);
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw invalid(runsForAnnotation, text, accepted);
}

function invalid(annotation: string, value: string, accepted: string): Error {
  return new Error(`annotation ${annotation}: ${JSON.stringify(value)} must be ${accepted}`);
}
