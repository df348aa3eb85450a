/** The steps between which a driver may die, in their order. */
export const crashSteps = [
  /** The kubelet has asked; nothing is done yet. */
  "prepare-begun",
  /** It is on disk that `prepare` may have run. */
  "prepare-recorded",
  /** The driver's `prepare` has returned. */
  "prepare-called",
  /** CDI and metadata files are there. */
  "prepare-written",
  /** The checkpoint says that the claim is prepared; the kubelet has no response yet. */
  "prepare-completed",
  "unprepare-begun",
  /** The driver's `unprepare` has returned. */
  "unprepare-called",
  /** CDI and metadata files are gone. */
  "unprepare-removed",
  /** The checkpoint is gone; the kubelet has no response yet. */
  "unprepare-completed",
] as const;
export type CrashStep = (typeof crashSteps)[number];
