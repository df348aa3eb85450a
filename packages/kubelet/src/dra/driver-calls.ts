import type { Clock } from "@dray/client";
import { type CallOptions, RpcError } from "@dray/rpc";
import { shortened } from "../base/text.ts";
import type { PreparedDevice } from "./checkpoint.ts";
import type { ClaimInfo } from "./claims.ts";
import type { DraMetrics } from "./metrics.ts";
import type { DraPlugin, DraPlugins } from "./plugins.ts";
import { preparedDevices } from "./response.ts";

/** Timeout of a call to a driver in milliseconds. Upstream: dra/plugin, defaultClientCallTimeout. */
const callTimeout = 45_000;

export interface DriverCallsOptions {
  readonly plugins: DraPlugins;
  readonly metrics: DraMetrics;
  readonly clock: Clock;
}

/**
 * Calls drivers, each with all claims of a pod that it has a part in. Errors name the driver, and go into an
 * event of the pod.
 */
export class DriverCalls {
  readonly #options: DriverCallsOptions;

  constructor(options: DriverCallsOptions) {
    this.#options = options;
  }

  /** `record` is called with the devices of each prepared claim, even if another claim fails afterwards. */
  async prepare(
    driver: string,
    infos: readonly ClaimInfo[],
    signal: AbortSignal | undefined,
    record: (info: ClaimInfo, devices: readonly PreparedDevice[]) => void,
  ): Promise<void> {
    const plugin = this.#options.plugins.get(driver);
    const fail = (problem: string, cause?: unknown): never => {
      throw new Error(`DRA driver ${driver}: NodePrepareResources ${problem}`, { cause });
    };
    const { claims } = await this.#timed(plugin, "NodePrepareResources", () =>
      plugin.caller.nodePrepareResources({ claims: infos.map(claimMessage) }, callOptions(signal)),
    ).catch((error: Error) => fail(`failed: ${error.message}`, error));
    for (const [uid, result] of Object.entries(claims)) {
      const info = infos.find((one) => one.uid === uid);
      if (info === undefined)
        return fail(
          `returned a result for ResourceClaim UID ${shortened(uid, 100)}, which was not asked for`,
        );
      if (result.error !== "") fail(`failed for ResourceClaim ${info.name}: ${shortened(result.error)}`);
      record(info, preparedDevices(driver, info.name, result.devices));
    }
    const skipped = infos.filter(({ uid }) => claims[uid] === undefined).length;
    if (skipped > 0) fail(`skipped ${skipped} ResourceClaims`);
  }

  /** Returns the error of each claim that is still prepared. */
  async unprepare(
    driver: string,
    infos: readonly ClaimInfo[],
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<ClaimInfo, string>> {
    const failures = new Map<ClaimInfo, string>();
    const who = `DRA driver ${driver}: NodeUnprepareResources`;
    try {
      const plugin = this.#options.plugins.get(driver);
      const { claims } = await this.#timed(plugin, "NodeUnprepareResources", () =>
        plugin.caller.nodeUnprepareResources({ claims: infos.map(claimMessage) }, callOptions(signal)),
      );
      for (const info of infos) {
        const { error } = claims[info.uid] ?? { error: undefined };
        if (error === undefined) failures.set(info, `${who} skipped ResourceClaim ${info.name}`);
        else if (error !== "")
          failures.set(info, `${who} failed for ResourceClaim ${info.name}: ${shortened(error)}`);
      }
    } catch (error) {
      for (const info of infos) failures.set(info, `${who} failed: ${(error as Error).message}`);
    }
    return failures;
  }

  async #timed<T>({ driver, service }: DraPlugin, method: string, call: () => Promise<T>): Promise<T> {
    const { clock, metrics } = this.#options;
    const begun = clock.now();
    let code = "OK";
    try {
      return await call();
    } catch (error) {
      code = error instanceof RpcError ? error.code : "Unknown";
      throw error;
    } finally {
      metrics.call(driver, `/k8s.io.kubelet.pkg.apis.dra.${service}/${method}`, code, clock.now() - begun);
    }
  }
}

/** A call ends with its timeout, or when the agent stops; calls without a response are repeated. */
function callOptions(signal: AbortSignal | undefined): CallOptions {
  return { timeout: callTimeout, ...(signal === undefined ? {} : { signal }) };
}

function claimMessage({ namespace, uid, name }: ClaimInfo): { namespace: string; uid: string; name: string } {
  return { namespace, uid, name };
}
