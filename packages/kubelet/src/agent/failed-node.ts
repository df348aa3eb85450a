import type { Clock, Log } from "@dray/client";
import { Registration } from "../node/registration.ts";
import type { KubeletOptions } from "./options.ts";

/**
 * Reports why the agent of a node does not run, in the Ready condition of the Node. Renews the lease too,
 * since the node lifecycle controller would otherwise replace the reason by its own.
 */
export class FailedNode {
  readonly #registration: Registration;

  constructor(options: KubeletOptions, clock: Clock, log: Log, problem: string) {
    const { client, nodeName, nodeAddress = "127.0.0.1", labels = {}, capacity = {}, taints = [] } = options;
    this.#registration = new Registration({
      client,
      clock,
      log,
      nodeName,
      nodeAddress,
      labels,
      capacity,
      taints,
      problem: () => problem,
      changed: () => {},
    });
    this.#registration.start().catch((error: unknown) => {
      log.debug({ err: error }, "the Node could not be marked as not ready");
    });
  }

  /** Resolves when nothing more is written. */
  stop(): Promise<void> {
    return this.#registration.stop();
  }
}
