import type { Clock, Log } from "@dray/client";
import { Registration } from "../node/registration.ts";
import type { KubeletOptions } from "./options.ts";

/**
 * Speaks for a node whose agent does not run: its Node says why it is not ready. The lease is renewed, since the node
 * lifecycle controller would otherwise replace the reason by one of its own.
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

  /** Resolves when nothing is written any more. */
  stop(): Promise<void> {
    return this.#registration.stop();
  }
}
