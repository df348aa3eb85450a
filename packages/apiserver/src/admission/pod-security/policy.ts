import { type FieldError, type Labels, quoted } from "@dray/api";
import type { Level } from "./check.ts";

/** A level as it was in a release, or as it is now. */
export interface LevelVersion {
  readonly level: Level;
  /** 24 of `v1.24`; undefined for `latest`. */
  readonly minor: number | undefined;
}

export interface Policy {
  readonly enforce: LevelVersion;
  readonly warn: LevelVersion;
  /** Errors of invalid labels. */
  readonly errors: readonly FieldError[];
}

const prefix = "pod-security.kubernetes.io/";
const levels: readonly Level[] = ["privileged", "baseline", "restricted"];

/**
 * Returns the policy in the labels of a namespace (`pod-security.kubernetes.io/enforce`, ...). The default
 * level is `privileged`; that of warnings is the enforced level.
 */
export function policyOf(labels: Labels | undefined): Policy {
  const errors: FieldError[] = [];
  const refuse = (label: string, value: string, detail: string): void => {
    errors.push({ type: "Invalid", path: `metadata.labels[${label}]`, value: quoted(value), detail });
  };
  const level = (mode: string, otherwise: Level): Level | undefined => {
    const label = `${prefix}${mode}`;
    const value = labels?.[label];
    if (value === undefined) return undefined;
    const found = levels.find((each) => each === value);
    if (found === undefined) refuse(label, value, `must be one of ${levels.join(", ")}`);
    return found ?? otherwise;
  };
  const version = (mode: string): number | undefined => {
    const label = `${prefix}${mode}-version`;
    const value = labels?.[label];
    if (value === undefined || value === "latest") return undefined;
    const match = /^v1\.(0|[1-9][0-9]*)$/.exec(value);
    if (match === null) refuse(label, value, 'must be "latest" or "v1.x"');
    return match === null ? undefined : Number(match[1]);
  };
  const unread = errors.length;
  const enforce = level("enforce", "restricted");
  const readable = errors.length === unread;
  const enforced = { level: enforce ?? "privileged", minor: version("enforce") } as const;
  level("audit", "privileged");
  version("audit");
  const warn = level("warn", "privileged");
  const warnMinor = version("warn");
  const hasWarnVersion = labels?.[`${prefix}warn-version`] !== undefined;
  // An enforced level implies warnings, also for pod templates of controllers.
  const follows = warn === undefined && readable && enforced.level !== "privileged";
  return {
    enforce: enforced,
    warn: follows
      ? { level: enforced.level, minor: hasWarnVersion ? warnMinor : enforced.minor }
      : { level: warn ?? "privileged", minor: warnMinor },
    errors,
  };
}

/** `restricted:latest`, `baseline:v1.24` */
export function policyText({ level, minor }: LevelVersion): string {
  return `${level}:${minor === undefined ? "latest" : `v1.${minor}`}`;
}

/** Reports whether a level allows at most what another one allows. */
export function isStricter(one: LevelVersion, other: LevelVersion): boolean {
  return levels.indexOf(one.level) > levels.indexOf(other.level);
}
