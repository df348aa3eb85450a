import type { KubeObject } from "@dray/api";
import type { UserInfo } from "@dray/client";
import type { ServedResource } from "../registry/kinds.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** A write on its way into the registry, as admission sees it. */
export interface AdmissionRequest {
  readonly operation: Operation;
  readonly served: ServedResource;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** In its stored version; plugins that mutate change it. Absent for DELETE. */
  readonly object?: KubeObject;
  /** Frozen; absent for CREATE. */
  readonly old?: KubeObject;
  readonly user: UserInfo;
  readonly dryRun: boolean;
}

/** One check or change that every write passes. Refuses by throwing a StatusError. */
export interface AdmissionPlugin {
  /** As `--disable-admission-plugins` names it. */
  readonly name: string;
  mutate?(request: AdmissionRequest): void | Promise<void>;
  validate?(request: AdmissionRequest): void | Promise<void>;
}

/** The plugins in their order: all mutate before validation, all validate after it. */
export class Admission {
  readonly #plugins: readonly AdmissionPlugin[];

  constructor(plugins: readonly AdmissionPlugin[], disabled: readonly string[] = []) {
    const unknown = disabled.filter((name) => !plugins.some((plugin) => plugin.name === name));
    if (unknown.length > 0) {
      const known = plugins.map((plugin) => plugin.name).join(", ");
      throw new TypeError(`unknown admission plugin ${JSON.stringify(unknown[0])}: known are ${known}`);
    }
    this.#plugins = plugins.filter((plugin) => !disabled.includes(plugin.name));
  }

  async mutate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#plugins) await plugin.mutate?.(request);
  }

  async validate(request: AdmissionRequest): Promise<void> {
    for (const plugin of this.#plugins) await plugin.validate?.(request);
  }
}
