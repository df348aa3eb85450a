/** One line of a log. */
export interface Entry {
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The numbers of pino: 20 debug, 30 info, 40 warn, 50 error. */
  readonly level: number;
  /** `apiserver`, `kubelet`, ...: the part of `name` before the slash. */
  readonly component: string;
  /** The node of an agent's line. */
  readonly node: string | undefined;
  readonly message: string;
  /** All other fields of the line. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Component of output outside of the logs, mostly of a crash. */
export const outputComponent = "output";

/** `kubelet/worker-1`, or the component alone. */
export const nameOf = ({ component, node }: Pick<Entry, "component" | "node">): string =>
  node === undefined ? component : `${component}/${node}`;

/**
 * Parses a line of pino. Any other text, such as a stack that Node prints at a crash, is a line of `output`
 * at the time `otherwise`.
 */
export function parseEntry(line: string, otherwise: number): Entry {
  const parsed = parseObject(line);
  if (typeof parsed?.["time"] !== "number" || typeof parsed["msg"] !== "string") {
    return {
      time: otherwise,
      level: 30,
      component: outputComponent,
      node: undefined,
      message: line,
      fields: {},
    };
  }
  const { time, level, component, node, msg, ...fields } = parsed;
  return {
    time: time as number,
    level: typeof level === "number" ? level : 30,
    component: typeof component === "string" ? component : outputComponent,
    node: typeof node === "string" ? node : undefined,
    message: msg as string,
    fields,
  };
}

function parseObject(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    // A line that a crash or a full disk has cut off.
    return undefined;
  }
}
