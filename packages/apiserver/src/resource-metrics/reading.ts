/** The usage counters of a container or a node at one moment. */
export interface Point {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Start of the container, in milliseconds since the epoch; undefined for a node. */
  readonly startedAt?: number;
  /** CPU time since the start, in seconds. */
  readonly cpuSeconds: number;
  /** Working set. */
  readonly memoryBytes: number;
}

/** The report of one node at one moment. */
export interface Reading {
  readonly node: Point | undefined;
  /** By `namespace/name` of the pod, then by container. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Point>>;
}

type Draft = { -readonly [Field in keyof Point]?: Point[Field] };

/** Which field of a point each series sets. */
const series: Readonly<Record<string, (draft: Draft, value: number, at: number) => void>> = {
  cpu_usage_seconds_total(draft, value, at) {
    draft.cpuSeconds = value;
    draft.at = at;
  },
  memory_working_set_bytes(draft, value, at) {
    draft.memoryBytes = value;
    // The time of the CPU sample counts, because CPU is a rate.
    draft.at ??= at;
  },
  start_time_seconds(draft, value) {
    draft.startedAt = value * 1000;
  },
};

/**
 * Parses `/metrics/resource` of a kubelet, in the text format of Prometheus; `now` is the time of samples
 * without one. A pod is omitted if one of its containers lacks CPU or memory, and so is such a node.
 *
 * Upstream: metrics-server, pkg/scraper/client/resource/decode.go
 */
export function parseReading(text: string, now: number): Reading {
  const node: Draft = {};
  const pods = new Map<string, Map<string, Draft>>();
  for (const line of text.split("\n")) {
    const match = /^(node|container)_([a-z_]+)(?:\{(.*)\})? (\S+)(?: (-?\d+))?\s*$/.exec(line);
    if (match === null) continue;
    const [, owner, name = "", labels = "", value = "", time] = match;
    const fill = Object.hasOwn(series, name) ? series[name] : undefined;
    const number = Number(value);
    if (fill === undefined || !Number.isFinite(number)) continue;
    const at = time === undefined ? now : Number(time);
    if (owner === "node") {
      fill(node, number, at);
      continue;
    }
    const { namespace, pod, container } = parseLabels(labels);
    if (!namespace || !pod || !container) continue;
    const key = `${namespace}/${pod}`;
    const containers = pods.get(key) ?? new Map<string, Draft>();
    pods.set(key, containers);
    const draft = containers.get(container) ?? {};
    containers.set(container, draft);
    fill(draft, number, at);
  }
  const whole = [...pods].filter(([, containers]) => [...containers.values()].every(isPoint));
  return {
    node: isPoint(node) ? node : undefined,
    pods: new Map(whole as [string, Map<string, Point>][]),
  };
}

/** For a container that has just ended, a kubelet may still report one of the two. */
const isPoint = (draft: Draft): draft is Point =>
  draft.cpuSeconds !== undefined && draft.memoryBytes !== undefined;

function parseLabels(text: string): Readonly<Record<string, string | undefined>> {
  const labels: Record<string, string> = Object.create(null);
  for (const [, name = "", value = ""] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g))
    labels[name] = value.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
  return labels;
}
