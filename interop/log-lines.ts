/** Lines of klog (k8s.io/klog) that speak of a failure, made comparable between two runs. */

/** A kind of line, and how often it occurred. */
export type LineCounts = ReadonlyMap<string, number>;

const header = /^([EWFI])\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ ([\w./-]+):\d+\] (.*)$/;

/**
 * Removes from a line all that differs from run to run: time, process, names of objects, identifiers,
 * addresses and numbers. Returns undefined for lines other than errors, warnings, and those with an `err=`.
 */
export function normalise(line: string): string | undefined {
  const match = header.exec(line);
  if (match === null) return undefined;
  const [, level, file, message = ""] = match;
  if (level === "I" && !/\berr(or)?=/.test(message)) return undefined;
  const text = message
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s",]*/g, "TIME")
    .replaceAll(/https?:\/\/[^\s"\\]+/g, "URL")
    .replaceAll(/\b(\d{1,3}\.){3}\d{1,3}(:\d+)?/g, "ADDRESS")
    .replaceAll(/\binterop-[\w./-]*/g, "NAME")
    .replaceAll(/\b(\w+)="((?:[^"\\]|\\.)*)"/g, (all, key: string) =>
      identifying.has(key) ? `${key}=NAME` : all,
    )
    .replaceAll(/\d+(\.\d+)?/g, "N");
  return `${level} ${file}] ${text}`;
}

/** Keys of klog whose values name an object, and nothing of what went wrong. */
const identifying = new Set([
  "pod",
  "node",
  "job",
  "deployment",
  "replicaSet",
  "name",
  "namespace",
  "item",
  "key",
  "claim",
  "service",
  "object",
]);

/**
 * Returns the kind of an error line, for logs in which names can be anything: the message and `err`, without
 * quoted parts (except resources and groups that were refused) and without words that have a digit, a slash
 * or a dash. Undefined for other lines.
 */
export function normaliseError(line: string): string | undefined {
  const match = header.exec(line);
  if (match?.[1] !== "E") return undefined;
  const [, , file, message = ""] = match;
  const [, said = message, values = ""] = /^"((?:[^"\\]|\\.)*)"(.*)$/.exec(message) ?? [];
  const cause = /\berr="((?:[^"\\]|\\.)*)"/.exec(values)?.[1];
  const text = (cause === undefined ? said : `${said}: ${cause}`)
    // One level of Go's escapes; what is quoted inside a quoted part keeps its own.
    .replaceAll(/\\(["\\])/g, "$1")
    .replaceAll(/(\\+[nt])+/g, " ")
    .replaceAll(/(resource |group )?"(?:[^"\\]|\\.)*"/g, (all, refused?: string) => (refused ? all : "NAME"))
    .replaceAll(/\S*[\d/-]\S*/g, "NAME")
    .replaceAll(/NAME(\s+NAME)+/g, "NAME");
  return `${file}] ${text.slice(0, 140)}`;
}

/** The failures that a log speaks of. */
export function failures(log: string): LineCounts {
  return countKinds(log, normalise);
}

/** The errors of a log, by kind. */
export function errors(log: string): LineCounts {
  return countKinds(log, normaliseError);
}

function countKinds(log: string, kindOf: (line: string) => string | undefined): LineCounts {
  const counts = new Map<string, number>();
  for (const line of log.split("\n")) {
    const kind = kindOf(line);
    if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts;
}

/** Kinds of lines that are in `ours` and not in `theirs`, sorted. */
export function onlyIn(
  ours: LineCounts,
  theirs: LineCounts,
): { readonly line: string; readonly count: number }[] {
  return [...ours]
    .filter(([line]) => !theirs.has(line))
    .map(([line, count]) => ({ line, count }))
    .sort((a, b) => (a.line < b.line ? -1 : 1));
}
