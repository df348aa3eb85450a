import type { JobSpec } from "../../../generated/batch/v1.ts";
import { podWarnings } from "../../core/pod/warnings.ts";

const manyCompletions = 100_000;
const manyAtOnce = 10_000;

export function jobWarnings(path: string, spec: JobSpec | undefined): string[] {
  const many =
    spec?.completionMode === "Indexed" &&
    (spec.completions ?? 0) > manyCompletions &&
    (spec.parallelism ?? 0) > manyAtOnce;
  return [
    ...(many
      ? [
          `${path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...podWarnings(`${path}.template.`, spec?.template),
  ];
}
