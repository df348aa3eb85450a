import { QuantityError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ExtensionPoints } from "../framework/extension-points.ts";
import type { CycleState, Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import { SchedulerMetrics } from "../metrics/scheduler-metrics.ts";
import { runPreFilter } from "./pre-filter.ts";

/**
 * Whether an exception says that an object has a value that its reader did not expect. Errors that a plugin
 * raises on purpose fail the attempt, as upstream.
 */
function isUnreadable(error: unknown): error is Error {
  return (
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof SyntaxError ||
    error instanceof ReferenceError ||
    error instanceof QuantityError
  );
}

/** Returns a rejection of the node if an object on it cannot be read. */
export function orRejected<T>(plugin: string, evaluate: () => T): T | Rejection {
  try {
    return evaluate();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return unreadableRejection(plugin, error);
  }
}

function unreadableRejection(plugin: string, { message }: Error): Rejection {
  // It does not name the node, so that equal reasons are counted.
  const reason = `node(s) with an object that the scheduler cannot read (${message})`;
  return { plugin, reasons: [reason], resolvable: false };
}

interface Options {
  readonly points: ExtensionPoints;
  /** The first rejection by a filter. */
  readonly filter: (state: CycleState, pod: Pod, node: NodeInfo) => Rejection | undefined;
  /** Called once for each node and exception. */
  readonly report: (node: NodeInfo, error: Error) => void;
}

/** The nodes of an attempt. */
interface Readable {
  readonly readable: readonly NodeInfo[];
  /** Of the other nodes, by name. */
  readonly rejections: ReadonlyMap<string, Rejection>;
}

const noRejections: ReadonlyMap<string, Rejection> = new Map();

/**
 * Leaves out the nodes for which a plugin throws, so that one object that cannot be read keeps pods from its
 * node only. The nodes are looked for after an exception, one by one; from then on those found are asked
 * first, until they have changed and can be read.
 */
export class UnreadableNodes {
  readonly #options: Options;
  /** Version of each suspected node, and what was reported about it. */
  readonly #suspects = new Map<NodeInfo, { version: number; readonly reported: Set<string> }>();
  readonly #metrics = new SchedulerMetrics();

  constructor(options: Options) {
    this.#options = options;
  }

  sift(pod: Pod, nodes: readonly NodeInfo[]): Readable {
    if (this.#suspects.size === 0) return { readable: nodes, rejections: noRejections };
    const rejections = new Map<string, Rejection>();
    const readable = nodes.filter((node) => {
      const suspect = this.#suspects.get(node);
      if (suspect === undefined) return true;
      const error = this.#probe(pod, node);
      if (error === undefined) {
        if (suspect.version !== node.version) this.#suspects.delete(node);
        return true;
      }
      suspect.version = node.version;
      rejections.set(node.name, unreadableRejection("", error));
      return false;
    });
    return { readable, rejections };
  }

  /**
   * Finds the nodes that cause an exception. Returns false if no node alone causes it, as an odd pod does.
   */
  find(pod: Pod, nodes: readonly NodeInfo[], cause: unknown): boolean {
    if (!isUnreadable(cause)) return false;
    const found = nodes.flatMap((node) => {
      const error = this.#suspects.has(node) ? undefined : this.#probe(pod, node);
      return error === undefined ? [] : [{ node, error }];
    });
    // Where every node throws, the pod may be the reason.
    const isCertain = found.length < nodes.length || nodes.length === 1;
    for (const { node, error } of found) {
      const suspect = this.#suspects.get(node) ?? { version: node.version, reported: new Set() };
      this.#suspects.set(node, suspect);
      if (!isCertain || suspect.reported.has(error.message)) continue;
      suspect.reported.add(error.message);
      this.#options.report(node, error);
    }
    return found.length > 0;
  }

  /** Asks the plugins about this node alone. */
  #probe(pod: Pod, node: NodeInfo): Error | undefined {
    const { points, filter } = this.#options;
    const state: CycleState = new Map();
    const nodes = [node];
    try {
      const measurement = { metrics: this.#metrics, profile: "", sampled: false };
      if (runPreFilter(points.preFilter, measurement, { state, pod, nodes }).upfront !== undefined)
        return undefined;
      if (filter(state, pod, node) !== undefined) return undefined;
      const skipped = new Set(
        points.preScore
          .filter((plugin) => plugin.preScore(state, pod, nodes) === "skip")
          .map(({ name }) => name),
      );
      for (const { plugin } of points.score) if (!skipped.has(plugin.name)) plugin.score(state, pod, node);
      return undefined;
    } catch (error) {
      if (isUnreadable(error)) return error;
      throw error;
    }
  }
}
